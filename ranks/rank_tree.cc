#include "ranks/rank_tree.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "ranks/job_families.h"
#include "ranks/process_label.h"
#include "ranks/process_tree.h"
#include "ranks/rank_choice.h"
#include "ranks/rank_notes.h"
#include "ranks/rank_siblings.h"
#include "ranks/rank_table.h"
#include "ranks/replicas.h"
#include "ranks/self_reports.h"

namespace oddrank::ranks {
namespace {

// Returns the leader of its process group or session, if that leader is gone: it was the rank, if
// the launcher gives each rank a group of its own. -1: unknown.
pid_t pid_of_gone_rank(const RankTable& table, std::size_t i) {
  for (const pid_t leader : {table.stat(i).group, table.stat(i).session}) {
    if (leader > 1 && leader != table.stat(i).pid && table.tree.find(leader) == kNoProcess) {
      return leader;
    }
  }
  return -1;
}

std::size_t owner_row(const RankTable& table, std::size_t i, std::size_t heads) {
  const std::size_t above = table.tree.ancestor(i, [&](std::size_t at) {
    return table.row_of[at] != kNoProcess && table.row_of[at] < heads;
  });
  if (above != kNoProcess) {
    return table.row_of[above];
  }
  const auto& identity = table.tree[i].identity;
  // A shell that was left behind by a program of the rank may hold up the process that reads its
  // output.
  const ProcessRole role = table.tree[i].role;
  const bool runs_on = role == ProcessRole::kShell && is_orphan(table.tree, i);
  if (!identity || (role != ProcessRole::kProgram && !runs_on)) {
    return kNoProcess;
  }
  const auto found = table.owner_of.find(JobRank(identity->job, identity->rank));
  if (found == table.owner_of.end() ||
      table.stat(i).start_us < table.stat(table.rows[found->second].process).start_us) {
    return kNoProcess;
  }
  return found->second;
}

// Adds processes whose rank has exited.
void add_survivors(RankTable& table) {
  for (const std::size_t i : table.choice.survivors) {
    if (table.row_of[i] != kNoProcess) {
      continue;
    }
    const RankIdentity& identity = *table.tree[i].identity;
    const auto owner = table.owner_of.find(JobRank(identity.job, identity.rank));
    const bool zombie = owner != table.owner_of.end();  // what is left of the rank itself
    RankRow& row = table.add_row(
        i, false,
        zombie ? table.stat(table.rows[owner->second].process).pid : pid_of_gone_rank(table, i));
    row.outlives_rank = true;
    number_as(identity, row);
  }
}

// Adds the processes that a rank has forked, and processes with its variables elsewhere in the tree
// (orphans, helpers beside it). The ranks are the first `heads` rows.
void add_children(RankTable& table, std::size_t heads) {
  for (std::size_t i = 0; i < table.tree.size(); ++i) {
    if (table.row_of[i] != kNoProcess || table.tree[i].role == ProcessRole::kAgent ||
        table.is_excluded(i)) {
      continue;
    }
    const std::size_t owner = owner_row(table, i, heads);
    if (owner == kNoProcess) {
      continue;
    }
    const RankRow head = table.rows[owner];
    RankRow& row = table.add_row(i, false, head.owner);
    number_as(head, row);
    row.replica = head.replica;
    row.role = role_of_title(table.facts[i].arguments);
  }
}

void add_ranks(RankTable& table) {
  for (const std::size_t i : table.choice.ranks) {
    table.add_rank(i);
  }
}

// If there is no rank, adds the launchers that will start some: what they wait for is the answer.
// A launcher that runs another one is not asked, nor one that is no Python program.
void add_waiting_launchers(RankTable& table) {
  if (!table.rows.empty()) {
    return;
  }
  const auto launches = [&table](std::size_t i) {
    return table.tree[i].role == ProcessRole::kRankLauncher && is_python(table.facts[i].arguments);
  };
  std::set<std::size_t> outer;
  for (std::size_t i = 0; i < table.tree.size(); ++i) {
    const std::size_t above = launches(i) ? table.tree.ancestor(i, launches) : kNoProcess;
    if (above != kNoProcess) {
      outer.insert(above);
    }
  }
  for (std::size_t i = 0; i < table.tree.size(); ++i) {
    if (launches(i) && outer.count(i) == 0 && !table.is_excluded(i) &&
        matches(table.facts[i], table.options)) {
      table.add_row(i, true, table.stat(i).pid);
    }
  }
}

// Adds the requested processes, and the ranks below them. Each requested process has a row of its
// own, as they may wait for each other; but a worker of a rank is that rank's.
void add_given(RankTable& table) {
  std::set<pid_t> given(table.options.pids.begin(), table.options.pids.end());
  const auto is_given = [&](std::size_t i) { return given.count(table.stat(i).pid) != 0; };
  const bool any_rank = std::any_of(
      table.choice.ranks.begin(), table.choice.ranks.end(),
      [&](std::size_t i) { return is_given(i) || table.tree.ancestor(i, is_given) != kNoProcess; });
  for (std::size_t i = 0; i < table.tree.size(); ++i) {
    const bool is_rank = std::find(table.choice.ranks.begin(), table.choice.ranks.end(), i) !=
                         table.choice.ranks.end();
    const bool below = table.tree.ancestor(i, is_given) != kNoProcess;
    if (is_rank && (is_given(i) || below)) {
      table.add_rank(i);
    } else if (is_given(i) && (!(below && any_rank) || has_own_part(table, i))) {
      table.add_given_process(i);
    }
  }
  // A worker of a given process is its child, not a process of its own.
  for (std::size_t i = 0; i < table.tree.size(); ++i) {
    const auto has_row = [&](std::size_t above) { return table.row_of[above] != kNoProcess; };
    if (is_given(i) && table.row_of[i] == kNoProcess &&
        table.tree.ancestor(i, has_row) == kNoProcess) {
      table.add_given_process(i);
    }
  }
}

// Returns the ranks that should be on this node. The launchers' lists count only if every rank that
// was found is in them: a list that lacks one describes something else.
std::vector<std::int32_t> expected_ranks(const RankTable& table) {
  std::set<std::string> jobs;
  std::set<std::int32_t> found;
  std::set<std::int32_t> listed;
  for (const RankRow& row : table.rows) {
    jobs.insert(row.replica + row.job);
    if (row.rank >= 0) {
      found.insert(row.rank);
    }
    if (table.tree[row.process].identity) {
      const auto& ranks = table.tree[row.process].identity->node_ranks;
      listed.insert(ranks.begin(), ranks.end());
    }
  }
  // A process that outlives its rank shows that the rank was here.
  if (listed.empty() && !table.choice.survivors.empty()) {
    listed = found;
  }
  for (const std::size_t i : table.choice.survivors) {
    jobs.insert(table.tree[i].identity->job);
    listed.insert(table.tree[i].identity->rank);
  }
  const bool complete = std::includes(listed.begin(), listed.end(), found.begin(), found.end());
  if (jobs.size() != 1 || !complete || !table.options.pids.empty()) {
    return {};
  }
  return {listed.begin(), listed.end()};
}

void sort_by_rank(std::vector<RankRow>& rows) {
  std::stable_sort(rows.begin(), rows.end(), [](const RankRow& a, const RankRow& b) {
    return std::tuple(a.job, a.rank, a.owner, !a.is_rank) <
           std::tuple(b.job, b.rank, b.owner, !b.is_rank);
  });
}

}  // namespace

std::vector<std::size_t> processes_to_ask(const std::vector<ProcessFacts>& facts,
                                          const DiscoverOptions& options) {
  return processes_to_ask(ProcessTree(facts, !options.slurm_job.empty()), options);
}

std::vector<std::size_t> conducts_to_read(const std::vector<ProcessFacts>& facts,
                                          const DiscoverOptions& options) {
  ProcessTree tree(facts, !options.slurm_job.empty());
  return conducts_to_read(tree, options);
}

RankDecision decide_ranks(const std::vector<ProcessFacts>& facts, const DiscoverOptions& options) {
  RankTable table(facts, options);
  if (options.pids.empty()) {
    add_ranks(table);
    add_unidentified(table);
  } else {
    add_given(table);
  }
  join_replicas(table);
  forget_lone_numbers(table);
  join_engines(table);
  if (options.pids.empty()) {
    add_families(table);
    add_waiting_launchers(table);
  }
  RankDecision decision;
  decision.expected = expected_ranks(table);
  const std::size_t heads = table.rows.size();
  add_roles(table);
  add_survivors(table);
  add_children(table, heads);
  decision.notes = notes_on(table);
  decision.obstacle = obstacle_of(table);
  decision.rows = std::move(table.rows);
  sort_by_rank(decision.rows);
  return decision;
}

}  // namespace oddrank::ranks
