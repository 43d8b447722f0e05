// Decodes captures of many nodes with as many threads as there are CPUs, and hands them over in
// order.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "base/result.h"
#include "snapshot/capture.h"

namespace oddrank::snapshot {

// Returns the bytes of capture number `i`, or the reason why there are none. Called by several
// threads at once.
using BytesOf = std::function<Result<std::string>(std::size_t i)>;
// Called by the caller's thread, for 0, 1, 2, ...
using TakeCapture = std::function<void(std::size_t i, Result<Capture> capture)>;

// Decodes only a few captures in advance, so that they are never all in memory. Starts no thread
// for a single capture, and works without threads if none can be started. Passes on exceptions of
// `take`.
void decode_many(std::size_t count, const BytesOf& bytes_of, const TakeCapture& take);

}  // namespace oddrank::snapshot
