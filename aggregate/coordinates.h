// Where a rank stands in the layout of its job: its place within each group that the program has a
// name for ("tp", "pp", "dp"), as far as captures tell the groups' members.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "aggregate/job_view.h"

namespace oddrank::aggregate {

// Name of the group, and the rank's place in it, from 0.
using Coordinates = std::vector<std::pair<std::string, std::size_t>>;

// Borrows the view. Remembers the lists of members that it has read: thousands of ranks share one.
class JobLayout {
 public:
  explicit JobLayout(const JobView& view) : view_(view) {}

  // tp, cp, ep, pp and dp first, in this order, then others by name; empty where nothing is known.
  // A name of two groups in which the rank has different places is left out: it would tell nothing.
  Coordinates of(const RankView& rank);

 private:
  const std::vector<std::int32_t>& members_of(const snapshot::ProcessGroup& group);

  const JobView& view_;
  std::unordered_map<std::uint32_t, std::vector<std::int32_t>> members_;  // by id of their text
};

// "tp1 pp0 dp3".
std::string coordinate_words(const Coordinates& coordinates);

}  // namespace oddrank::aggregate
