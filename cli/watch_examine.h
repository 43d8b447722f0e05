// Examines a capture of the watch: finds the verdict, adds the past of ranks, writes files.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"
#include "cli/file_mode.h"
#include "watch/watch.h"

namespace oddrank::cli {

struct KeepOptions {
  std::string folder;  // "" = captures are not kept
  std::string name;    // of the job or the host; see watch/rolling_files.h
  std::size_t keep = 3;
  FileMode mode;
  bool redact = false;  // captures, reports and the verdict (snapshot/rewrite.h)
};

// Makes the folder if it is missing. Fails if no capture can be written into it. Called when a
// watch begins; does nothing without a folder. Uses a child with a deadline.
Status check_keep(const KeepOptions& options);

// Examines and saves a capture, in a child with a deadline: the folder may be on a file system that
// hangs. The past of a rank becomes a note of its node if the rank is a culprit, could not be read
// in full, or is the watcher's own. The past comes from `taken`, else from the files that other
// watchers left in the folder. Errors: the capture cannot be decoded, or nothing in it was read
// (kNotFound).
Result<watch::Examination> examine(const watch::TakenCapture& taken, const KeepOptions& options);

// Fails if no metrics can be written as that file. Called when a watch begins. Does not make the
// folder, since a collector reads from an existing one. Uses a child with a deadline.
Status check_metrics(const std::string& path);

// Writes the metrics as that file, or removes it (null). Uses a child with a deadline.
void publish_metrics(const watch::WatchMetrics* metrics,
                     const std::string& path,
                     const std::string& name);

// Writes the past of a rank into the folder, or removes it if it has no words. Uses a child with a
// deadline.
void leave_past(const watch::PastFile& past, const KeepOptions& options);

}  // namespace oddrank::cli
