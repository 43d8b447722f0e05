#include "ranks/rank_notes.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string_view>

#include "ranks/jobs/job_tiers.h"
#include "ranks/process_tree.h"
#include "ranks/rank_choice.h"
#include "ranks/self_reports.h"

namespace oddrank::ranks {
namespace {

using Notes = std::vector<std::string>;

constexpr std::size_t kMaxStrangers = 3;  // named in one note

std::string pid_and_name(const attach::ProcStat& stat) {
  return "pid " + std::to_string(stat.pid) + " (" + stat.name + ")";
}

// Returns "pid 7 (python3), pid 8 (tail) and 3 more".
std::string list_of(const RankTable& table, const std::vector<std::size_t>& processes) {
  std::string list;
  for (std::size_t i = 0; i < std::min(processes.size(), kMaxStrangers); ++i) {
    list += (i == 0 ? "" : ", ") + pid_and_name(table.stat(processes[i]));
  }
  return processes.size() <= kMaxStrangers
             ? list
             : list + " and " + std::to_string(processes.size() - kMaxStrangers) + " more";
}

// Says where the variables of a process and what it says of itself differ.
void note_contradictions(const RankTable& table, Notes& notes) {
  std::size_t count = 0;
  std::string first;
  for (const RankRow& row : table.rows) {
    const ProcessFacts& facts = table.facts[row.process];
    const auto outer = identify_rank(facts.environment);
    if (!row.is_rank || !facts.reported.has_rank() || !outer || !table.tree[row.process].identity ||
        !contradicts(*table.tree[row.process].identity, *outer)) {
      continue;
    }
    ++count;
    if (first.empty()) {
      first =
          contradiction_words(facts.stat.pid, *outer, facts.reported.by, row.rank, row.world_size);
    }
  }
  if (count != 0) {
    notes.push_back(
        first + (count == 1 ? "" : "; the same is true of " + std::to_string(count - 1) + " more"));
  }
}

// Names processes with a communication library that belong to no job: not those that have started
// ranks.
void note_strangers(const RankTable& table, Notes& notes) {
  std::set<std::size_t> known = table.starters();
  known.insert(table.choice.other_runs.begin(), table.choice.other_runs.end());
  std::vector<std::size_t> strangers;
  for (std::size_t i = 0; i < table.facts.size(); ++i) {
    if (table.facts[i].asked && table.row_of[i] == kNoProcess && known.count(i) == 0) {
      strangers.push_back(i);
    }
  }
  if (!strangers.empty()) {
    notes.push_back(list_of(table, strangers) + (strangers.size() == 1 ? " has" : " have") +
                    " a communication library and no rank: not read, unless by pid");
  }
}

void note_side_jobs(const RankTable& table, Notes& notes) {
  for (const std::string& job : side_job_words(table.tree, table.choice.side_jobs)) {
    notes.push_back("left out (no training): " + job);
  }
}

void note_no_ranks(const RankTable& table, Notes& notes) {
  if (!table.no_ranks.empty()) {
    notes.push_back(list_of(table, table.no_ranks) +
                    (table.no_ranks.size() == 1 ? " has" : " have") +
                    " ended or cannot be read, and " +
                    (table.no_ranks.size() == 1 ? "is not a rank" : "are not ranks") +
                    ": the launcher has a process for each of its ranks");
  }
}

void note_leftovers(const RankTable& table, Notes& notes) {
  std::map<std::int32_t, std::vector<std::size_t>> by_rank;
  for (const std::size_t i : table.choice.leftovers) {
    by_rank[table.tree[i].identity->rank].push_back(i);
  }
  for (const auto& [rank, processes] : by_rank) {
    notes.push_back(list_of(table, processes) + (processes.size() == 1 ? " carries" : " carry") +
                    " the variables of rank " + std::to_string(rank) +
                    " but began before it: left over from an earlier run, not read");
  }
}

// Names ranks of other runs, with one note for each job.
void note_other_runs(const RankTable& table, Notes& notes) {
  std::map<std::string_view, std::string> lists;  // by the job
  for (const std::size_t i : table.choice.other_runs) {
    std::string& list = lists[table.tree[i].identity->job];
    list += (list.empty() ? "" : ", ") + pid_and_name(table.stat(i)) + " as rank " +
            std::to_string(table.tree[i].identity->rank);
  }
  for (const auto& [job, list] : lists) {
    notes.push_back("not read, unless by pid: " + list + " of " + std::string(job));
  }
}

// Names processes that say they belong to the requested SLURM job, but that job is another user's.
void note_pretenders(const RankTable& table, Notes& notes) {
  std::map<uid_t, std::vector<std::size_t>> by_user;
  for (std::size_t i = 0; i < table.tree.size(); ++i) {
    if (table.tree[i].identity && table.tree[i].role == ProcessRole::kProgram &&
        is_pretender(table.facts[i], table.options)) {
      by_user[table.facts[i].user].push_back(i);
    }
  }
  for (const auto& [user, processes] : by_user) {
    notes.push_back("not read: " + list_of(table, processes) + " of user " + std::to_string(user) +
                    ", with variables of job " + table.options.slurm_job + ", which is of user " +
                    std::to_string(*table.options.slurm_user));
  }
}

// Returns whether it may be the program of a rank: not a monitor or a `tee` beside it.
bool may_train(const ProcessFacts& facts) {
  return facts.loaded || facts.activity.communicates || facts.reported.has_rank() ||
         is_python(facts.arguments);
}

// Names whatever else carries the number of a rank and is neither a rank nor read as part of one.
void note_unread(const RankTable& table, Notes& notes) {
  const RankChoice& choice = table.choice;
  std::set<std::size_t> known;
  for (const auto* list :
       {&choice.leftovers, &choice.other_runs, &choice.survivors, &choice.side_jobs}) {
    known.insert(list->begin(), list->end());
  }
  const auto is_known = [&known](std::size_t above) { return known.contains(above); };
  std::map<std::string_view, std::vector<std::size_t>> by_job;
  for (std::size_t i = 0; i < table.tree.size(); ++i) {
    const TreeNode& node = table.tree[i];
    if (node.identity && node.role == ProcessRole::kProgram && table.row_of[i] == kNoProcess &&
        matches(table.facts[i], table.options) && !table.is_excluded(i) && !choice.is_wrapper(i) &&
        !is_known(i) && may_train(table.facts[i]) &&
        table.tree.ancestor(i, is_known) == kNoProcess) {
      by_job[node.identity->job].push_back(i);
    }
  }
  for (const auto& [job, processes] : by_job) {
    notes.push_back("not read, unless by pid: " + list_of(table, processes) +
                    (processes.size() == 1 ? ", which carries" : ", which carry") +
                    " the number of a rank of " + std::string(job) + " beside that rank");
  }
}

void note_blocked(const RankTable& table, Notes& notes) {
  for (std::size_t i = 0; i < table.facts.size(); ++i) {
    if (table.facts[i].read == FactsRead::kBlocked) {
      const attach::ProcStat& stat = table.stat(i);
      notes.push_back("pid " + std::to_string(stat.pid) + " (" + stat.name + ", state " +
                      stat.state +
                      ") does not let its environment be read: something holds its memory map");
    }
  }
}

// Names launchers that are above no rank and have no row: they wait for other nodes.
void note_idle_launchers(const RankTable& table, Notes& notes) {
  const std::set<std::size_t> above = table.starters();
  for (std::size_t i = 0; i < table.tree.size(); ++i) {
    if (table.tree[i].role == ProcessRole::kRankLauncher && table.row_of[i] == kNoProcess &&
        above.count(i) == 0) {
      notes.push_back(pid_and_name(table.stat(i)) +
                      " is a launcher that has started no ranks here");
    }
  }
}

void note_refused(const RankTable& table, Notes& notes) {
  const auto refused =
      std::count_if(table.facts.begin(), table.facts.end(),
                    [](const ProcessFacts& facts) { return facts.read == FactsRead::kRefused; });
  if (table.rows.empty() && refused != 0) {
    notes.push_back(std::to_string(refused) +
                    " processes of other users could not be read: run oddrank as the owner of the "
                    "job, or as root");
  }
}

// Counts the ranks that are here, of the jobs of the given processes, but were not given.
std::size_t ranks_not_given(const RankTable& table) {
  std::set<std::string_view> jobs;
  for (const RankRow& row : table.rows) {
    if (row.rank >= 0) {
      jobs.insert(row.job);
    }
  }
  return static_cast<std::size_t>(
      std::count_if(table.choice.ranks.begin(), table.choice.ranks.end(), [&](std::size_t i) {
        return table.row_of[i] == kNoProcess && table.tree[i].identity &&
               jobs.count(table.tree[i].identity->job) != 0;
      }));
}

// Names a process that was taken for a rank of another run, if its number is missing in this one:
// then it may be this one's all the same.
std::string doubtful_runs(const RankTable& table) {
  for (const std::size_t i : table.choice.other_runs) {
    const RankIdentity& identity = *table.tree[i].identity;
    const std::string job = identity.job.substr(0, identity.job.rfind(" ("));
    if (table.owner_of.count(JobRank(job, identity.rank)) == 0) {
      return pid_and_name(table.stat(i)) + " has the number of rank " +
             std::to_string(identity.rank) + ", but was taken for another run's";
    }
  }
  return "";
}

std::string blocked_processes(const RankTable& table) {
  std::string first;
  std::size_t count = 0;
  for (std::size_t i = 0; i < table.facts.size(); ++i) {
    if (table.facts[i].read == FactsRead::kBlocked && table.row_of[i] == kNoProcess &&
        table.tree[i].role == ProcessRole::kProgram && ++count == 1) {
      first = pid_and_name(table.stat(i));
    }
  }
  if (count == 0) {
    return "";
  }
  return first + (count == 1 ? "" : " and " + std::to_string(count - 1) + " more") +
         " did not answer in time, so they may be ranks";
}

}  // namespace

std::vector<std::string> notes_on(const RankTable& table) {
  Notes notes;
  note_contradictions(table, notes);
  if (table.options.pids.empty()) {
    note_other_runs(table, notes);
    note_strangers(table, notes);
    note_idle_launchers(table, notes);
    note_unread(table, notes);
  }
  note_pretenders(table, notes);
  note_side_jobs(table, notes);
  note_leftovers(table, notes);
  note_no_ranks(table, notes);
  note_blocked(table, notes);
  note_refused(table, notes);
  return notes;
}

std::string obstacle_of(const RankTable& table) {
  // A user who asks for some ranks of a job should not read that the others are gone.
  const std::size_t others = table.options.pids.empty() ? 0 : ranks_not_given(table);
  if (others == 0) {
    const std::string blocked = blocked_processes(table);
    return blocked.empty() && table.options.pids.empty() ? doubtful_runs(table) : blocked;
  }
  return (others == 1 ? "1 more rank runs" : std::to_string(others) + " more ranks run") +
         " here, but only the given processes were read";
}

}  // namespace oddrank::ranks
