// The data of the HTML report, as one compact JSON text that holds each text, frame and stack once,
// and rows as arrays. html/data.js reads it. The order of the columns is defined there and in
// html_data.cc; both change together. This is not a public format: programs read --json.
#pragma once

#include <string>

#include "aggregate/diagnosis.h"
#include "aggregate/view/job_view.h"

namespace oddrank::report {

// Returns text that is safe inside a <script> element: it contains no '<'. A job of 1,024 ranks
// with 99 threads each takes less than 2 MB.
std::string html_data(const aggregate::Diagnosis& report, const aggregate::JobView& view);

}  // namespace oddrank::report
