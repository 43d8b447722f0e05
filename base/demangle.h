// Symbol names for people. A capture keeps them as the file has them; only what is printed is
// demangled (about 1 us a name).
#pragma once

#include <string>
#include <string_view>

namespace oddrank {

// Returns "gloo::transport::tcp::Loop::run()" for "_ZN4gloo9transport3tcp4Loop3runEv", and a name
// that is not mangled as it is. Demangles names of Rust, too (demangle_rust.h).
std::string demangle(std::string_view symbol);

// Returns the same without arguments and with template arguments cut to "<...>", for one line on a
// screen: "c10d::Work::wait".
std::string short_name(std::string_view symbol);

}  // namespace oddrank
