// Which ranks of its job each replica has. Private to snapshot/.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "snapshot/capture.h"

namespace oddrank::snapshot {

// A larger number is damaged.
inline constexpr std::int32_t kMaxReplicaNumber = 1 << 24;

// A replica's job and name, and its node if another one has the same ranks.
using ReplicaKey = std::tuple<StringId, StringId, std::uint32_t>;

// The ranks of a replica in its job.
struct ReplicaPlace {
  std::int32_t first = 0;  // its rank 0's number in the job
  std::int32_t size = 0;
  std::int32_t number = -1;  // of the replica: its own, if it has one
};

class Replicas {
 public:
  // Borrows it.
  explicit Replicas(const Capture& capture);

  // Returns null if the process belongs to no replica.
  const ReplicaPlace* of(const ProcessCapture& process) const;
  // Return the number of ranks of a job that has replicas, and of the largest such job (-1: none).
  std::int32_t ranks_of(StringId job) const { return sizes_.at(job); }
  std::int32_t most() const { return most_; }

 private:
  ReplicaKey key_of(const ProcessCapture& process) const;
  void find_names_of_several();
  void measure();
  std::vector<ReplicaKey> in_order() const;
  void place();

  const Capture& capture_;
  std::set<std::pair<StringId, StringId>> of_several_;  // job and name
  std::map<ReplicaKey, ReplicaPlace> places_;
  std::map<StringId, std::int32_t> sizes_;  // of jobs
  std::int32_t most_ = -1;
};

}  // namespace oddrank::snapshot
