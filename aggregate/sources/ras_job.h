// The answers of NCCL's RAS service, of all nodes together, and what NCCL's memory holds on ranks
// of which the service told nothing: how many collectives each member of a communicator has
// launched, and who is behind.
//
// Counts are of launches by the host. Who is behind has not launched what the others have; that all
// are equal proves nothing. One look cannot tell late from stuck, so nobody is behind for certain
// unless no count of the communicator moved between two.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "aggregate/view/job_view.h"
#include "snapshot/collective_state.h"

namespace oddrank::aggregate {

struct RasMemberView {
  std::int32_t member = -1;  // rank within the communicator; -1: those that a text does not list
  std::int32_t rank = -1;    // of the job; -1 = not known
  std::string words;         // "rank 4 (n0, pid 3121)", or what the service calls it
  snapshot::RasRank told;
};

struct RasCommunicatorView {
  std::string hash;
  std::string version;
  std::int32_t size = -1;
  std::vector<RasMemberView> members;  // by number; of two answers about one the better
  std::size_t operation = snapshot::kRasOperations;  // whose counts differ; as below
  std::vector<std::size_t> behind;                   // of `members`: fewer launches than the others
  std::int64_t most = -1;                            // launches of those who are not behind
  bool from_service = false;                         // what is known of a member
  bool from_memory = false;
  bool asked_twice = false;  // about all whose counts are known
  bool moved = false;        // a count grew between the two questions

  bool counts_differ() const { return !behind.empty(); }
};

// By hash.
std::vector<RasCommunicatorView> view_ras(const JobView& view);

// "RAS", "NCCL memory", or both.
std::string ras_source(const std::vector<RasCommunicatorView>& communicators);

// One sentence; "" if the communicator shows nothing (equal counts that move, or are unknown).
std::string ras_words(const RasCommunicatorView& communicator);

// Ranks of the job that are behind while nothing moved, in every communicator whose counts differ;
// empty if those name different ranks, or one of them is not known. Ascending.
std::vector<std::int32_t> behind_by_ras(const std::vector<RasCommunicatorView>& communicators);

}  // namespace oddrank::aggregate
