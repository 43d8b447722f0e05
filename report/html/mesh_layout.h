// The layout of a job as axes (dp × pp × tp), if its process groups show one; for the grid of
// ranks.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "aggregate/view/job_view.h"

namespace oddrank::report {

struct MeshLayout {
  std::vector<std::string> names;  // of the axes, the slowest first; empty: no layout is known
  std::vector<std::size_t> sizes;
  std::vector<std::size_t> order;  // by rank of the view: its place, counted along all axes
};

// Returns axes that give each rank its own place and leave no place empty; of several choices, the
// one with the most axes. The groups of other ranks show the place of a rank that was not read.
MeshLayout mesh_layout(const aggregate::JobView& view);

}  // namespace oddrank::report
