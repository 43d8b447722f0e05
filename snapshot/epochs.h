// Captures of one job, sorted into the times at which it was looked at: parts of one look (a file a
// node) belong together, a second look at the same processes does not.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "snapshot/capture.h"

namespace oddrank::snapshot {

// When the first of its processes was read, in microseconds of CLOCK_REALTIME; nullopt: none was.
std::optional<std::uint64_t> began_us(const Capture& capture);

// Oldest first; each merged (merge.h). A capture begins a new time if it has a process (same host,
// pid and start) or a rank (same host and number) that the present time has already, read more than
// a second apart. The order of `captures` decides nothing. Empty for none.
std::vector<Capture> join_by_time(std::vector<Capture> captures);

}  // namespace oddrank::snapshot
