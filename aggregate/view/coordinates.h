// The coordinates of a rank in the layout of its job: its place within each group that the program
// names ("tp", "pp", "dp"), if the capture shows the groups' members.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "aggregate/view/job_view.h"

namespace oddrank::aggregate {

// Name of the group, and the rank's place in it, counted from 0.
using Coordinates = std::vector<std::pair<std::string, std::size_t>>;

// Returns tp, cp, ep, pp and dp first, in this order, then the others by name; empty if nothing is
// known. Leaves out groups of one rank, and names shared by groups in which the rank has different
// places.
Coordinates coordinates_of(const JobView& view, const RankView& rank);

// Returns "tp1 pp0 dp3".
std::string coordinate_words(const Coordinates& coordinates);

}  // namespace oddrank::aggregate
