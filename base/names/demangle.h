// Symbol names for people. A capture keeps them as in the file; only printed names are demangled
// (about 1 us for each).
//
// Names of functions made by Cython: "__pyx_pw_3pkg_3cyx_5Model_1forward".
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace oddrank {

// Returns "gloo::transport::tcp::Loop::run()" for "_ZN4gloo9transport3tcp4Loop3runEv", and a name
// that is not mangled unchanged. Also demangles names of Rust (demangle_rust.h) and Cython.
std::string demangle(std::string_view symbol);

// Returns the same without arguments and with template arguments cut to "<...>", for one line on a
// screen: "c10d::Work::wait".
std::string short_name(std::string_view symbol);

// Returns "pkg.cyx.Model.forward"; nullopt if the symbol is not a function that Cython made for a
// module, nor one of its helpers.
std::optional<std::string> demangle_cython(std::string_view symbol);

}  // namespace oddrank
