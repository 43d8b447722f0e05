// Captures of many nodes, decoded by as many threads as there are CPUs, and handed over in order.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "base/result.h"
#include "snapshot/capture.h"

namespace oddrank::snapshot {

// The bytes of capture number `i`, or why there are none. Called by several threads at a time.
using BytesOf = std::function<Result<std::string>(std::size_t i)>;
// Called by the caller's thread, for 0, 1, 2, ...
using TakeCapture = std::function<void(std::size_t i, Result<Capture> capture)>;

// Few captures are ahead of the one that is taken: memory is not that of all. Starts no thread for
// a single one; where none can be started, works without. What `take` throws comes out.
void decode_many(std::size_t count, const BytesOf& bytes_of, const TakeCapture& take);

}  // namespace oddrank::snapshot
