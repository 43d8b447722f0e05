// Names of functions made by Cython: "__pyx_pw_3pkg_3cyx_5Model_1forward".
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace oddrank {

// Returns "pkg.cyx.Model.forward"; nullopt if the symbol is not a function that Cython made for a
// module, nor one of its helpers.
std::optional<std::string> demangle_cython(std::string_view symbol);

}  // namespace oddrank
