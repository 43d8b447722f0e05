// The HTML report's page, style and script from report/html/, built into the program.
#pragma once

#include <string_view>

namespace oddrank::report {

// Returns the page, with marks for the parts to fill in: <!--title-->, <!--style-->, <!--text-->,
// <!--data-->, <!--script-->.
std::string_view html_page();
// Return the texts for <!--style--> and <!--script-->.
std::string_view html_style();
std::string_view html_script();

}  // namespace oddrank::report
