// The answers of NCCL's RAS service on all nodes, and what NCCL's memory holds for ranks about
// which the service said nothing: how many collectives each member of a communicator has launched,
// and which members are behind.
//
// Counts are launches by the host. A member that is behind has not launched what the others have;
// equal counts prove nothing. One sample cannot tell late from stuck: a member is certainly behind
// only if no count of the communicator moved between two samples.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "aggregate/view/job_view.h"
#include "snapshot/collective_state.h"

namespace oddrank::aggregate {

struct RasMemberView {
  std::int32_t member = -1;  // rank within the communicator; -1: members that the text does not
                             // list
  std::int32_t rank = -1;    // of the job; -1 = unknown
  std::string words;         // "rank 4 (n0, pid 3121)", or what the service calls it
  snapshot::RasRank reported;
};

struct RasCommunicatorView {
  std::string hash;
  std::string version;
  std::int32_t size = -1;
  std::vector<RasMemberView> members;  // by number; the better of two answers about one member
  std::size_t operation =
      snapshot::kRasOperations;     // whose counts differ; the fields below are about it
  std::vector<std::size_t> behind;  // indices of `members`: fewer launches than the others
  std::int64_t most = -1;           // launches of the members that are not behind
  bool from_service = false;        // at least one member is known from the service
  bool from_memory = false;
  bool asked_twice = false;  // all members with known counts were
  bool moved = false;        // a count grew between the two questions

  bool counts_differ() const { return !behind.empty(); }
  bool stood_still() const { return asked_twice && !moved; }
};

// Returns the communicators, ordered by hash.
std::vector<RasCommunicatorView> view_ras(const JobView& view);

// Returns "RAS", "NCCL memory", or both.
std::string ras_source(const std::vector<RasCommunicatorView>& communicators);

// Returns "by RAS, rank 4 (n0, pid 3121) launched AllReduce 41 times, the others 42". Precondition:
// counts_differ().
std::string launch_words(const RasCommunicatorView& communicator);

// Returns one sentence; "" if the communicator shows nothing (equal counts that move, or are
// unknown).
std::string ras_words(const RasCommunicatorView& communicator);

}  // namespace oddrank::aggregate
