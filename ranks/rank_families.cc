#include "ranks/rank_families.h"

#include "ranks/process_label.h"

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

}  // namespace

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

}  // namespace oddrank::ranks
