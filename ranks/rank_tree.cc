#include "ranks/rank_tree.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "ranks/job_families.h"
#include "ranks/process_tree.h"
#include "ranks/rank_choice.h"
#include "ranks/rank_families.h"
#include "ranks/rank_notes.h"
#include "ranks/rank_siblings.h"
#include "ranks/rank_table.h"
#include "ranks/replicas.h"
#include "ranks/self_reports.h"

namespace oddrank::ranks {
namespace {

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
