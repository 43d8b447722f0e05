// The live page from serve/page/, built into the program.
#pragma once

#include <string_view>

namespace oddrank::serve {

std::string_view page_html();
std::string_view page_style();
std::string_view page_script();

}  // namespace oddrank::serve
