// Siblings of ranks without a number of their own.
#pragma once

#include "ranks/rank_table.h"

namespace oddrank::ranks {

// Adds siblings of ranks that nothing identifies: zombies, processes that may not be read, and
// processes that have not got as far as the others (those of torch.multiprocessing, and those that
// run the same program). If its number does not follow from the others', a sibling has rank -1.
void add_unidentified(RankTable& table);

}  // namespace oddrank::ranks
