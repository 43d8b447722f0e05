// The live page from serve/page/, built into the program.
#pragma once

#include <string_view>

namespace oddrank::serve {

// Return the contents of the three files.
std::string_view page_html();
std::string_view page_style();
std::string_view page_script();

}  // namespace oddrank::serve
