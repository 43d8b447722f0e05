// What the page asks for every two seconds: the state of the live page as JSON.
#pragma once

#include <string>

#include "serve/live_reports.h"

namespace oddrank::serve {

// `about`: the command, for the title. `words`: whether what the reading says on stderr may be
// shown.
std::string state_json(const LiveReports& reports,
                       LiveReports::Time now,
                       const std::string& about,
                       bool words);

}  // namespace oddrank::serve
