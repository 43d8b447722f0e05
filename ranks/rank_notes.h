// Notes for the reader of a report on how the ranks of a node were found.
#pragma once

#include <string>
#include <vector>

#include "ranks/rank_table.h"

namespace oddrank::ranks {

// Returns sentences: contradictions, processes that were left out, launchers without ranks.
std::vector<std::string> notes_on(const RankTable& table);

// Returns why a rank may be missing among the rows: it was not among the given processes, or some
// process did not answer. "" if all were examined.
std::string obstacle_of(const RankTable& table);

}  // namespace oddrank::ranks
