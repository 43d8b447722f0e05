// What the watch makes of a capture: the verdict, the pasts of the ranks that it is about, files.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"
#include "watch/watch.h"

namespace oddrank::cli {

struct KeepOptions {
  std::string folder;  // "" = nowhere
  std::string name;    // whose captures they are: job id, or host; see watch/rolling_files.h
  std::size_t keep = 3;
};

// In a child with a deadline: the folder may lie on a file system that does not answer. The past of
// a rank becomes a note of its node where the rank is a culprit or could not be read in full, and
// of the watcher's own rank; it comes from `taken`, else from what other watchers left in the
// folder. Errors: the capture cannot be decoded, or nothing in it was read (kNotFound).
Result<watch::Examination> examine(const watch::TakenCapture& taken, const KeepOptions& options);

// Writes or, without words, removes the past of a rank in the folder; in a child as well.
void leave_past(const watch::PastFile& past, const KeepOptions& options);

}  // namespace oddrank::cli
