// Symbol names for people. A capture keeps them as the file has them; only what is printed is
// demangled (about 1 us a name).
#pragma once

#include <string>
#include <string_view>

namespace oddrank {

// "_ZN4gloo9transport3tcp4Loop3runEv" -> "gloo::transport::tcp::Loop::run()"; a name that is not
// mangled comes back as it is. Names of Rust too (demangle_rust.h).
std::string demangle(std::string_view symbol);

// The same without arguments and with template arguments cut to "<...>": for one line on a screen.
// "c10d::Work::wait".
std::string short_name(std::string_view symbol);

}  // namespace oddrank
