// What the HTML report shows, as one compact JSON text: each text, frame and stack once, rows as
// arrays. html/data.js reads it; the order of the columns is told there and in html_data.cc, and
// both change together. No promise to anybody else: programs read --json.
#pragma once

#include <string>

#include "aggregate/diagnosis.h"
#include "aggregate/view/job_view.h"
#include "snapshot/capture.h"

namespace oddrank::report {

// Safe inside of a <script> element: no '<' is in it. A job of 1,024 ranks with 99 threads each
// takes less than 2 MB.
std::string html_data(const aggregate::Diagnosis& report, const aggregate::JobView& view);
std::string html_data(const aggregate::Diagnosis& report, const snapshot::Capture& capture);

}  // namespace oddrank::report
