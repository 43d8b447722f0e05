// The report as one page for a browser: a single file that loads nothing, so that it opens on a
// laptop without a network, from a ticket or an e-mail.
//
// It shows the verdict, the chain of waits as a picture, a grid of ranks, the stacks of all ranks
// as an icicle, and every thread of every rank. Data from a target is always text, never markup; a
// content security policy forbids the page to load anything.
//
// The HTML report's page, style and script from report/html/, built into the program.
#pragma once

#include <string>
#include <string_view>

#include "aggregate/diagnosis.h"
#include "aggregate/view/job_view.h"

namespace oddrank::report {

// Returns the page. `report` and `view`: of the same capture.
std::string report_html(const aggregate::Diagnosis& report, const aggregate::JobView& view);

// Returns the page, with marks for the parts to fill in: <!--title-->, <!--style-->, <!--text-->,
// <!--data-->, <!--script-->.
std::string_view html_page();
// Return the texts for <!--style--> and <!--script-->.
std::string_view html_style();
std::string_view html_script();

}  // namespace oddrank::report
