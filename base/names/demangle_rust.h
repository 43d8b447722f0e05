// Demangles Rust's symbols, in both manglings: legacy ("_ZN...17h0123456789abcdefE") and v0
// ("_R..."). Rust comes with many Python packages (tokenizers, safetensors, polars).
//
// libiberty's rust_demangle_callback is not used: it bounds its recursion but not its output (back
// references expand a symbol of 235 bytes to 400 MB, and the callback cannot stop it), and it
// cannot leave out generic arguments. Debian offers libiberty as a static library only, without a
// stable interface, and advises against its use.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace oddrank {

// Returns "serde::de::visit" for "_RNvNtCs1234_5serde2de5visit"; nullopt if the symbol is not
// Rust's, or is damaged. With `generics`, shows the arguments of generic functions and types;
// without, shows "<...>". v0 follows RFC 2603; only numeric constants are supported.
std::optional<std::string> demangle_rust(std::string_view symbol, bool generics);

}  // namespace oddrank
