#include "ranks/rank_table.h"

#include <algorithm>
#include <utility>

namespace oddrank::ranks {

RankTable::RankTable(const std::vector<ProcessFacts>& all_facts, const DiscoverOptions& wanted)
    : facts(all_facts),
      options(wanted),
      tree(all_facts, !wanted.slurm_job.empty()),
      choice(choose_ranks(tree, wanted)),
      row_of(all_facts.size(), kNoProcess) {}

bool RankTable::is_excluded(std::size_t process) const {
  return std::find(options.exclude.begin(), options.exclude.end(), stat(process).pid) !=
         options.exclude.end();
}

std::size_t RankTable::starter_of(std::size_t process) const {
  const std::size_t parent = tree[process].parent;
  return parent == kNoProcess || !choice.is_wrapper(parent)
             ? parent
             : tree.ancestor(process, [this](std::size_t at) { return !choice.is_wrapper(at); });
}

std::set<std::size_t> RankTable::starters() const {
  std::set<std::size_t> found;
  for (const RankRow& row : rows) {
    tree.ancestor(row.process, [&found](std::size_t above) {
      found.insert(above);
      return false;
    });
  }
  return found;
}

RankRow& RankTable::add_row(std::size_t process, bool is_rank, pid_t owner) {
  RankRow row;
  row.process = process;
  row.is_rank = is_rank;
  row.owner = owner;
  row_of[process] = rows.size();
  rows.push_back(std::move(row));
  return rows.back();
}

void RankTable::add_rank(std::size_t process) {
  const RankIdentity& identity = *tree[process].identity;
  RankRow& row = add_row(process, true, stat(process).pid);
  number_as(identity, row);
  owner_of.emplace(JobRank(identity.job, identity.rank), rows.size() - 1);
}

void RankTable::add_given_process(std::size_t process) {
  RankRow& row = add_row(process, true, stat(process).pid);
  const auto& identity = tree[process].identity;
  if (identity && tree[process].role == ProcessRole::kProgram) {
    number_as(*identity, row);
  }
}

}  // namespace oddrank::ranks
