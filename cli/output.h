// From a capture to everything the user asked for: verdict, text, files, exit status.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/exit_status.h"
#include "cli/options.h"
#include "report/text_options.h"
#include "snapshot/capture.h"

namespace oddrank::cli {

// Says an Error on stderr, with its hint, and gives the exit status that belongs to it.
ExitStatus report_error(const Error& error);

// Writes one output that was asked for ("-" is stdout); says it where that fails.
bool write_output(const std::string& path, const std::string& bytes);

// For text on stdout: colours where a person looks, and nobody said no (no-color.org).
report::TextOptions text_options(const OutputOptions& options);

// Saves first (what was read is never lost), then diagnoses, writes what was asked for and prints
// the text to stdout, unless something else was sent there ("-"). A file that cannot be written is
// said on stderr and gives kToolFault, after all else was done.
// With an earlier capture of the same job, also what changed since.
ExitStatus deliver(const snapshot::Capture& capture,
                   const OutputOptions& options,
                   const snapshot::Capture* earlier = nullptr);

// As py-spy's dump: each process with its threads and merged stacks, no verdict. For `oddrank node
// PID` on processes that are no ranks.
ExitStatus deliver_processes(const snapshot::Capture& capture, const OutputOptions& options);

}  // namespace oddrank::cli
