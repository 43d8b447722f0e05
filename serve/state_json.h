// The state of the live page as JSON; the page requests it every two seconds.
#pragma once

#include <string>

#include "serve/live_reports.h"

namespace oddrank::serve {

// `about`: the command, for the title. `words`: whether the reading's stderr may be shown.
std::string state_json(const LiveReports& reports,
                       LiveReports::Time now,
                       const std::string& about,
                       bool words);

}  // namespace oddrank::serve
