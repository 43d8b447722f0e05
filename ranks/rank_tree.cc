#include "ranks/rank_tree.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "ranks/process_tree.h"
#include "ranks/rank_choice.h"

namespace oddrank::ranks {
namespace {

class Decider {
 public:
  Decider(const std::vector<ProcessFacts>& facts, const DiscoverOptions& options)
      : facts_(facts),
        options_(options),
        tree_(facts, !options.slurm_job.empty()),
        row_of_(facts.size(), kNoProcess) {}

  RankDecision decide() {
    choice_ = choose_ranks(tree_, options_);
    if (options_.pids.empty()) {
      add_ranks();
      add_unidentified();
    } else {
      add_given();
    }
    add_expected();
    const std::size_t heads = rows_.size();
    add_survivors();
    add_children(heads);
    add_notes();
    return finish();
  }

 private:
  const attach::ProcStat& stat(std::size_t i) const { return facts_[i].stat; }

  RankRow& add_row(std::size_t process, bool is_rank, pid_t owner) {
    RankRow row;
    row.process = process;
    row.is_rank = is_rank;
    row.owner = owner;
    row_of_[process] = rows_.size();
    rows_.push_back(std::move(row));
    return rows_.back();
  }

  void add_rank(std::size_t i) {
    const RankIdentity& identity = *tree_[i].identity;
    RankRow& row = add_row(i, true, stat(i).pid);
    row.rank = identity.rank;
    row.local_rank = identity.local_rank;
    row.world_size = identity.world_size;
    row.job = identity.job;
    owner_of_.emplace(JobRank(identity.job, identity.rank), rows_.size() - 1);
  }

  void add_ranks() {
    for (const std::size_t i : choice_.ranks) {
      add_rank(i);
    }
  }

  // Adds the requested processes, and the ranks below them.
  void add_given() {
    std::set<pid_t> given(options_.pids.begin(), options_.pids.end());
    const auto is_given = [&](std::size_t i) { return given.count(stat(i).pid) != 0; };
    for (std::size_t i = 0; i < tree_.size(); ++i) {
      const bool is_rank =
          std::find(choice_.ranks.begin(), choice_.ranks.end(), i) != choice_.ranks.end();
      const bool below = tree_.ancestor(i, is_given) != kNoProcess;
      if (is_rank && (is_given(i) || below)) {
        add_rank(i);
      } else if (is_given(i) && !below) {
        add_given_process(i);
      }
    }
    // A worker of a given process is its child, not a process of its own.
    for (std::size_t i = 0; i < tree_.size(); ++i) {
      const auto has_row = [&](std::size_t above) { return row_of_[above] != kNoProcess; };
      if (is_given(i) && row_of_[i] == kNoProcess && tree_.ancestor(i, has_row) == kNoProcess) {
        add_given_process(i);
      }
    }
  }

  void add_given_process(std::size_t i) {
    RankRow& row = add_row(i, true, stat(i).pid);
    const auto& identity = tree_[i].identity;
    if (identity && tree_[i].role == ProcessRole::kProgram) {
      row.rank = identity->rank;
      row.local_rank = identity->local_rank;
      row.world_size = identity->world_size;
      row.job = identity->job;
    }
  }

  // Adds siblings of ranks that nothing identifies: zombies, and processes that may not be read.
  // Their rank follows from the others if the launcher numbers its ranks without gaps.
  void add_unidentified() {
    const std::size_t ranks = rows_.size();
    std::map<std::size_t, std::vector<std::size_t>> brothers;  // parent -> rows
    for (std::size_t row = 0; row < ranks; ++row) {
      const std::size_t parent = starter_of(rows_[row].process);
      if (parent != kNoProcess && row_of_[parent] == kNoProcess) {
        brothers[parent].push_back(row);
      }
    }
    for (const auto& [parent, rows] : brothers) {
      // Init adopts all orphans: a zombie there has no siblings.
      if (stat(parent).pid > 1 || tree_[parent].role == ProcessRole::kRankLauncher) {
        add_brothers(parent, rows);
      }
    }
  }

  // Returns the process that started it, wrappers apart.
  std::size_t starter_of(std::size_t i) const {
    const std::size_t parent = tree_[i].parent;
    return parent == kNoProcess || !choice_.is_wrapper(parent)
               ? parent
               : tree_.ancestor(i, [this](std::size_t at) { return !choice_.is_wrapper(at); });
  }

  bool is_unidentified(std::size_t i, const std::vector<std::size_t>& rows) const {
    const ProcessFacts& facts = facts_[i];
    const bool silent = facts.stat.state == 'Z' || facts.read == FactsRead::kRefused ||
                        facts.read == FactsRead::kBlocked;
    if (!silent || row_of_[i] != kNoProcess || tree_[i].role != ProcessRole::kProgram) {
      return false;
    }
    // A rank runs the same program as its siblings; PyTorch renames it to pt_main_thread.
    const std::string& name = facts.stat.name;
    return name == "pt_main_thread" || name.substr(0, 6) == "python" ||
           std::any_of(rows.begin(), rows.end(),
                       [&](std::size_t row) { return stat(rows_[row].process).name == name; });
  }

  void add_brothers(std::size_t parent, const std::vector<std::size_t>& rows) {
    const RankRow first = rows_[rows.front()];
    std::set<std::int32_t> missing;
    for (const std::size_t row : rows) {
      if (rows_[row].job != first.job) {
        return;  // siblings of several jobs: the zombie may belong to any of them
      }
      const auto& listed = tree_[rows_[row].process].identity->node_ranks;
      missing.insert(listed.begin(), listed.end());
    }
    for (const RankRow& row : rows_) {
      if (row.job == first.job) {
        missing.erase(row.rank);
      }
    }
    std::vector<std::size_t> silent;
    for (const std::size_t child : tree_[parent].children) {
      if (is_unidentified(child, rows)) {
        silent.push_back(child);
      }
    }
    std::sort(silent.begin(), silent.end(), [this](std::size_t a, std::size_t b) {
      return std::pair(stat(a).start_us, stat(a).pid) < std::pair(stat(b).start_us, stat(b).pid);
    });
    const bool told = silent.size() == missing.size();
    auto number = missing.begin();
    for (const std::size_t child : silent) {
      RankRow& row = add_row(child, true, stat(child).pid);
      row.job = first.job;
      row.world_size = first.world_size;
      if (told) {
        row.rank = *number++;
        row.why = "its rank follows from those of its brothers";
      } else {
        row.why = "a process of the job whose rank is unknown";
      }
      owner_of_.emplace(JobRank(row.job, row.rank), rows_.size() - 1);
    }
  }

  // Adds processes whose rank has exited.
  void add_survivors() {
    for (const std::size_t i : choice_.survivors) {
      if (row_of_[i] != kNoProcess) {
        continue;
      }
      const RankIdentity& identity = *tree_[i].identity;
      RankRow& row = add_row(i, false, pid_of_gone_rank(i));
      row.outlives_rank = true;
      row.rank = identity.rank;
      row.local_rank = identity.local_rank;
      row.world_size = identity.world_size;
      row.job = identity.job;
    }
  }

  // Returns the leader of its process group or session, if that is gone: which is the rank if the
  // launcher gives each rank a group of its own. -1: unknown.
  pid_t pid_of_gone_rank(std::size_t i) const {
    for (const pid_t leader : {stat(i).group, stat(i).session}) {
      if (leader > 1 && leader != stat(i).pid && tree_.find(leader) == kNoProcess) {
        return leader;
      }
    }
    return -1;
  }

  // Adds the processes that a rank has forked, and those that carry its variables without being
  // below it (orphans, helpers beside it).
  void add_children(std::size_t heads) {
    for (std::size_t i = 0; i < tree_.size(); ++i) {
      if (row_of_[i] != kNoProcess || tree_[i].role == ProcessRole::kAgent || is_excluded(i)) {
        continue;
      }
      const std::size_t owner = owner_row(i, heads);
      if (owner == kNoProcess) {
        continue;
      }
      const RankRow head = rows_[owner];
      RankRow& row = add_row(i, false, head.owner);
      row.rank = head.rank;
      row.local_rank = head.local_rank;
      row.world_size = head.world_size;
      row.job = head.job;
    }
  }

  std::size_t owner_row(std::size_t i, std::size_t heads) const {
    const std::size_t above = tree_.ancestor(
        i, [&](std::size_t at) { return row_of_[at] != kNoProcess && row_of_[at] < heads; });
    if (above != kNoProcess) {
      return row_of_[above];
    }
    const auto& identity = tree_[i].identity;
    if (!identity || tree_[i].role != ProcessRole::kProgram) {
      return kNoProcess;
    }
    const auto found = owner_of_.find(JobRank(identity->job, identity->rank));
    if (found == owner_of_.end() ||
        stat(i).start_us < stat(rows_[found->second].process).start_us) {
      return kNoProcess;
    }
    return found->second;
  }

  bool is_excluded(std::size_t i) const {
    return std::find(options_.exclude.begin(), options_.exclude.end(), stat(i).pid) !=
           options_.exclude.end();
  }

  // The launchers' lists count only if every rank that was found is in them: a list that lacks one
  // describes something else.
  void add_expected() {
    std::set<std::string> jobs;
    std::set<std::int32_t> found;
    std::set<std::int32_t> listed;
    for (const RankRow& row : rows_) {
      jobs.insert(row.job);
      if (row.rank >= 0) {
        found.insert(row.rank);
      }
      if (tree_[row.process].identity) {
        const auto& ranks = tree_[row.process].identity->node_ranks;
        listed.insert(ranks.begin(), ranks.end());
      }
    }
    // A process that outlives its rank shows that the rank was here.
    if (listed.empty() && !choice_.survivors.empty()) {
      listed = found;
    }
    for (const std::size_t i : choice_.survivors) {
      jobs.insert(tree_[i].identity->job);
      listed.insert(tree_[i].identity->rank);
    }
    const bool complete = std::includes(listed.begin(), listed.end(), found.begin(), found.end());
    if (jobs.size() == 1 && complete && options_.pids.empty()) {
      expected_.assign(listed.begin(), listed.end());
    }
  }

  void add_notes() {
    for (const std::size_t i : choice_.leftovers) {
      notes_.push_back("pid " + std::to_string(stat(i).pid) + " (" + stat(i).name +
                       ") carries the variables of rank " +
                       std::to_string(tree_[i].identity->rank) +
                       " but began before it: left over from an earlier run, not read");
    }
    std::size_t refused = 0;
    std::vector<std::size_t> hidden;
    for (std::size_t i = 0; i < facts_.size(); ++i) {
      refused += facts_[i].read == FactsRead::kRefused ? 1 : 0;
      if (facts_[i].read == FactsRead::kBlocked) {
        notes_.push_back("pid " + std::to_string(stat(i).pid) + " (" + stat(i).name + ", state " +
                         stat(i).state +
                         ") does not let its environment be read: something holds "
                         "its memory map");
        if (row_of_[i] == kNoProcess && tree_[i].role == ProcessRole::kProgram) {
          hidden.push_back(i);
        }
      }
      if (rows_.empty() && tree_[i].role == ProcessRole::kRankLauncher) {
        notes_.push_back("pid " + std::to_string(stat(i).pid) + " (" + stat(i).name +
                         ") is a launcher that has started no ranks here");
      }
    }
    if (!hidden.empty()) {
      obstacle_ =
          "pid " + std::to_string(stat(hidden.front()).pid) + " (" + stat(hidden.front()).name +
          ")" + (hidden.size() == 1 ? "" : " and " + std::to_string(hidden.size() - 1) + " more") +
          " did not answer in time, so they may be ranks";
    }
    if (rows_.empty() && refused != 0) {
      notes_.push_back(std::to_string(refused) +
                       " processes of other users could not be read: run oddrank as the owner "
                       "of the job, or as root");
    }
  }

  RankDecision finish() {
    std::stable_sort(rows_.begin(), rows_.end(), [](const RankRow& a, const RankRow& b) {
      return std::tuple(a.job, a.rank, a.owner, !a.is_rank) <
             std::tuple(b.job, b.rank, b.owner, !b.is_rank);
    });
    return RankDecision{std::move(rows_), std::move(notes_), std::move(expected_),
                        std::move(obstacle_)};
  }

  const std::vector<ProcessFacts>& facts_;
  const DiscoverOptions& options_;
  ProcessTree tree_;
  RankChoice choice_;
  std::vector<RankRow> rows_;
  std::vector<std::size_t> row_of_;          // process -> row, or kNoProcess
  std::map<JobRank, std::size_t> owner_of_;  // (job, rank) -> row of its own process
  std::vector<std::string> notes_;
  std::vector<std::int32_t> expected_;
  std::string obstacle_;
};

}  // namespace

std::vector<std::size_t> conducts_to_read(const std::vector<ProcessFacts>& facts,
                                          const DiscoverOptions& options) {
  ProcessTree tree(facts, !options.slurm_job.empty());
  return conducts_to_read(tree, options);
}

RankDecision decide_ranks(const std::vector<ProcessFacts>& facts, const DiscoverOptions& options) {
  return Decider(facts, options).decide();
}

}  // namespace oddrank::ranks
