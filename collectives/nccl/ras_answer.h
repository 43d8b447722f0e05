// The answer of NCCL's RAS service to a status query, and its readers: as JSON, and as text.
//
// For each rank, the service counts the launches of five collectives by the host, but no sends,
// graphs or completions. Equal counts do not prove health, and the few ranks that its text names
// may be innocent: only the counts are used.
//
// Source: NCCL, src/ras/client_support.cc (tags v2.24.3-1 to v2.30.7-1).
//
// Reads the answer of NCCL's RAS service as JSON (from NCCL 2.28.7 on).
//
// NCCL 2.28.7 and 2.28.9 omit a comma before the "status" of a missing rank (fixed in 2.29.2), in
// exactly the answers that matter most; it is inserted before the answer is parsed.
//
// Reads the answer of NCCL's RAS service as text, which every version with the service returns.
//
// The text is made for people: if the ranks of a communicator differ, it lists the minority, and
// for the others only their number and their count.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "snapshot/collective_state.h"

namespace oddrank::collectives {

struct RasMember {
  std::int32_t rank = -1;  // within the communicator; -1: "the others", which a text does not list
  std::string host;        // an address; "" = unknown
  pid_t pid = 0;           // in the rank's own pid namespace; 0 = unknown
  std::int32_t device = -1;
  snapshot::RasPresence presence = snapshot::RasPresence::kAnswered;
  std::int32_t init_state = 0;
  std::int32_t async_error = 0;
  bool leaving = false;
  snapshot::RasCounts counts = snapshot::kNoRasCounts;

  bool operator==(const RasMember&) const = default;
};

struct RasGroup {
  std::string hash;
  std::int32_t size = -1;
  std::vector<RasMember> members;

  bool operator==(const RasGroup&) const = default;
};

struct RasAnswer {
  std::string version;  // "2.28.9"
  std::vector<RasGroup> groups;
  // Processes that the job has lost and that are no longer in a communicator.
  std::vector<RasMember> lost;
  std::int64_t timeouts = 0;  // timeouts during its collection
};

// Returns the contents of the answer, even if it ends early. kBadData: it is not such an answer.
Result<RasAnswer> read_ras_json(std::string_view text);

// Inserts a comma wherever a string follows a value; leaves valid JSON as it is.
std::string repair_json(std::string_view text);

// Returns the contents of the answer, even if it ends early. kBadData: it is not such an answer.
Result<RasAnswer> read_ras_text(std::string_view text);

}  // namespace oddrank::collectives
