// Brothers of ranks that have no number of their own.
#pragma once

#include "ranks/rank_table.h"

namespace oddrank::ranks {

// Adds siblings of ranks that nothing identifies: zombies, processes that may not be read, and
// processes of torch.multiprocessing that have not got as far as the others.
void add_unidentified(RankTable& table);

}  // namespace oddrank::ranks
