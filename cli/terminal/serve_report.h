// --serve: the HTML report as a live page (serve/live_page.h). Each report is made in a child, like
// by a run of the same command without --serve, which also writes the requested files.
#pragma once

#include <string>

#include "cli/options.h"
#include "cli/terminal/make_report.h"

namespace oddrank::cli {

// Serves until Ctrl-C, SIGTERM or SIGHUP, and returns 0 then. Returns the exit status of the error
// if it cannot serve or the first capture fails. `about`: see make_report. Precondition:
// options.serve.
int serve_report(const OutputOptions& options,
                 const std::string& about,
                 const TakeCapture& take,
                 const ShowCapture& show);

}  // namespace oddrank::cli
