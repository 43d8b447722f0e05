// The common part of the commands that capture and report: node, job, hosts and kube. They report
// once, with --watch again and again on the terminal, or with --serve for browsers.
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
// Has deliver()'s parameters; the last one is the capture before this one, or null.
using ShowCapture = std::function<ExitStatus(
    const snapshot::Capture&, const OutputOptions&, const snapshot::Capture*)>;

// Checks the outputs, captures, shows, and returns the exit status. With --watch it does so until
// Ctrl-C; then the last report stays, and its exit status counts. If a later capture fails, the
// report before it stays on the screen, with the error. `about`: what is read ("job 4711"), for the
// title of the live page.
int make_report(const OutputOptions& options,
                const std::string& about,
                const TakeCapture& take,
                const ShowCapture& show);

}  // namespace oddrank::cli
