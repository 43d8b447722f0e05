// Turns a capture into the requested output: verdict, text, files, exit status.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/exit_status.h"
#include "cli/options.h"
#include "report/text_options.h"
#include "snapshot/capture.h"

namespace oddrank::cli {

// Prints an Error and its hint on stderr, and returns status_of() its code.
ExitStatus report_error(const Error& error);

// Returns the exit status for an error.
ExitStatus status_of(Errc code);

// Checks, before anything is captured, that no two outputs go to one file or to stdout. kUsage.
Status check_outputs(const OutputOptions& options);

// Fails with kUsage if an output goes to stdout, which `option` needs for itself.
Status check_stdout_free(const OutputOptions& options, const std::string& option);

// Writes one output of text ("-" is stdout). All text is printed here, without control characters
// (base/printable.h). On failure, prints the error and returns false.
bool write_output(const std::string& path, const std::string& text, FileMode mode);

// Returns options for text on stdout. Colours are on for a terminal unless NO_COLOR is set
// (no-color.org).
report::TextOptions text_options(const OutputOptions& options);

// Saves first (so that a capture is never lost), then diagnoses, writes the requested files and
// prints the text to stdout, unless another output goes there ("-"). If a file cannot be written,
// prints the error and returns kToolFault after everything else is done. If `earlier` (a capture of
// the same job) is given, the report also says what has changed since.
ExitStatus deliver(const snapshot::Capture& capture,
                   const OutputOptions& options,
                   const snapshot::Capture* earlier = nullptr);

// Prints each process with its threads and merged stacks, like py-spy's dump, without a verdict.
// For `oddrank node PID` and processes that are not ranks.
ExitStatus deliver_processes(const snapshot::Capture& capture, const OutputOptions& options);

}  // namespace oddrank::cli
