// Symbol names for people. A capture keeps them as in the file; only printed names are demangled
// (about 1 us for each).
#pragma once

#include <string>
#include <string_view>

namespace oddrank {

// Returns "gloo::transport::tcp::Loop::run()" for "_ZN4gloo9transport3tcp4Loop3runEv", and a name
// that is not mangled unchanged. Also demangles names of Rust (demangle_rust.h) and Cython
// (names/demangle_cython.h).
std::string demangle(std::string_view symbol);

// Returns the same without arguments and with template arguments cut to "<...>", for one line on a
// screen: "c10d::Work::wait".
std::string short_name(std::string_view symbol);

}  // namespace oddrank
