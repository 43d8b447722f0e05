// Made-up jobs whose ranks form a mesh of any number of dimensions (dp × pp × tp), and hang because
// one rank waits for its loader.
//
// A rank waits in the group of the slowest dimension in which it stands apart from the odd one. So
// the groups of the fastest dimension wait for the odd rank, and those of each other one for ranks
// that wait in a faster one.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/support/capture_builder.h"

namespace oddrank::tests {

struct MeshDimension {
  std::string label;
  std::int32_t size = 0;
  bool transfers = false;  // its ranks receive from a neighbour, instead of summing
};

struct Mesh {
  std::vector<MeshDimension> dimensions;  // the slowest first
  std::int32_t odd = 0;                   // by its place in the mesh
  bool labelled = true;                   // processes show labels and members of their groups
  // Return the rank at a place, and the name of a dimension's group that begins at a place. Without
  // these functions, ranks and groups have the numbers of their places.
  std::function<std::int32_t(std::int32_t)> rank_at = {};
  std::function<std::string(const std::string&, std::int32_t)> group_name = {};

  std::int32_t ranks() const;
};

// Returns dp × pp × tp of these sizes; the odd rank stands a third of the way.
Mesh three_dimensions(std::int32_t dp, std::int32_t pp, std::int32_t tp);

// Rank r is pid 3000+r; there are eight ranks a node ("node00042").
CaptureBuilder mesh_job(const Mesh& mesh);

}  // namespace oddrank::tests
