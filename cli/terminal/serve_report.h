// --serve: the HTML report as a live page (serve/live_page.h). Each report is made in a child, like
// a run of the same command without --serve: files that were asked for are written each time.
#pragma once

#include <string>

#include "cli/options.h"
#include "cli/terminal/make_report.h"

namespace oddrank::cli {

// Serves until Ctrl-C, SIGTERM or SIGHUP. Returns 0 then; the exit status of an error if it cannot
// serve or the first capture fails. `about` as in make_report.
// Precondition: options.serve.
int serve_report(const OutputOptions& options,
                 const std::string& about,
                 const TakeCapture& take,
                 const ShowCapture& show);

}  // namespace oddrank::cli
