// Processes that belong to a rank but are not ranks.
#pragma once

#include "ranks/rank_table.h"

namespace oddrank::ranks {

// Adds processes whose rank has exited.
void add_survivors(RankTable& table);

// Adds the processes that a rank has forked, and processes with its variables elsewhere in the tree
// (orphans, helpers beside it). The ranks are the first `heads` rows.
void add_children(RankTable& table, std::size_t heads);

}  // namespace oddrank::ranks
