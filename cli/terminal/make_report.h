// Shared by the commands that capture and report: node, job, hosts and kube. They report once, with
// --watch repeatedly on the terminal, or with --serve for browsers.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "cli/options.h"
#include "cli/output.h"
#include "snapshot/capture.h"

namespace oddrank::cli {

// Adds -w, --watch[=SECONDS] and --serve[=ADDR]; returns the latter.
Option add_live_options(Command& command, OutputOptions& options);

using TakeCapture = std::function<Result<snapshot::Capture>()>;
// Has deliver()'s parameters; the last one is the previous capture, or null.
using ShowCapture = std::function<ExitStatus(
    const snapshot::Capture&, const OutputOptions&, const snapshot::Capture*)>;

// Checks the outputs, captures, shows, and returns the exit status. With --watch it repeats that
// until Ctrl-C; then the last report stays, and its exit status counts. If a later capture fails,
// the previous report stays on the screen, with the error. `about`: for the title of the live page,
// "job 4711".
int make_report(const OutputOptions& options,
                const std::string& about,
                const TakeCapture& take,
                const ShowCapture& show);

}  // namespace oddrank::cli
