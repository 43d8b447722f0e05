// Names of functions that Cython has made: "__pyx_pw_3pkg_3cyx_5Model_1forward".
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace oddrank {

// Returns "pkg.cyx.Model.forward"; nullopt if the symbol is none of Cython's functions of a module,
// or its helpers.
std::optional<std::string> demangle_cython(std::string_view symbol);

}  // namespace oddrank
