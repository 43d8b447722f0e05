// Siblings of ranks without a number of their own.
#pragma once

#include "ranks/rank_table.h"

namespace oddrank::ranks {

// Adds siblings of ranks that nothing identifies: zombies, processes that may not be read, and
// processes that are not as far as the others (started by torch.multiprocessing, or with the same
// program). A sibling has rank -1 if its number does not follow from the others'.
void add_unidentified(RankTable& table);

}  // namespace oddrank::ranks
