// Where a rank stands in the layout of its job: its place within each group that the program has a
// name for ("tp", "pp", "dp"), as far as captures tell the groups' members.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "aggregate/view/job_view.h"

namespace oddrank::aggregate {

// Name of the group, and the rank's place in it, from 0.
using Coordinates = std::vector<std::pair<std::string, std::size_t>>;

// tp, cp, ep, pp and dp first, in this order, then others by name; empty where nothing is known.
// A name of two groups in which the rank has different places is left out: it would tell nothing.
Coordinates coordinates_of(const JobView& view, const RankView& rank);

// "tp1 pp0 dp3".
std::string coordinate_words(const Coordinates& coordinates);

}  // namespace oddrank::aggregate
