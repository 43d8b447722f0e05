// Cython writes each scope with its length before it, and the function's own name last:
//   __pyx_f_  3pkg_ 3cyx_ 5Model_ inner      a cdef function: the name as it is
//   __pyx_pw_ 3pkg_ 3cyx_ 5Model_ 1forward   what Python calls: a number before the name
//   __pyx_pf_ 3pkg_ 3cyx_ 5Model_ forward    what that calls: a number, but for the first of a
//   scope
//   __pyx_gb_ 3pkg_ 3cyx_ 2generator         the body of a generator, a number before a fixed name
// A number before a name can look like the length of its first word ("2do_it"). Code that was
// compiled as C++ has these names mangled: "_ZL18__pyx_pw_3cyx_1runP7_object".
#include "base/names/demangle_cython.h"

#include <array>
#include <cstddef>

#include "base/ascii.h"
#include "base/parse_number.h"

namespace oddrank {
namespace {

struct Kind {
  std::string_view prefix;
  bool numbered;  // a number comes before the function's own name, if there is one at all
};

constexpr std::array<Kind, 4> kKinds = {
    {{"__pyx_f_", false}, {"__pyx_pw_", true}, {"__pyx_pf_", true}, {"__pyx_gb_", true}}};

std::size_t digits_of(std::string_view text) {
  std::size_t digits = 0;
  while (digits < text.size() && is_digit(text[digits])) {
    ++digits;
  }
  return digits;
}

// Returns the name without what C++ has added; "" if it is mangled otherwise.
std::string_view c_name(std::string_view symbol) {
  if (!symbol.starts_with("_Z")) {
    return symbol;
  }
  symbol.remove_prefix(symbol.starts_with("_ZL") ? 3 : 2);
  const std::size_t digits = digits_of(symbol);
  const auto length = parse_number<std::size_t>(symbol.substr(0, digits));
  symbol.remove_prefix(digits);
  return length && *length <= symbol.size() ? symbol.substr(0, *length) : std::string_view();
}

// Returns the scope at the front of the text and removes it; "" if what comes is the name.
std::string_view take_scope(std::string_view& text, bool numbered, bool is_module) {
  const std::size_t digits = digits_of(text);
  const auto length = parse_number<std::size_t>(text.substr(0, digits));
  const std::size_t left = text.size() - digits;  // the scope, an underscore and a name
  if (digits == 0 || !length || *length == 0 || left < 3 || *length > left - 2 ||
      text[digits + *length] != '_') {
    return {};
  }
  const std::string_view scope = text.substr(digits, *length);
  const std::string_view rest = text.substr(digits + *length + 1);
  const bool is_class = scope.front() >= 'A' && scope.front() <= 'Z';
  if (numbered && !is_module && !is_class && !is_digit(rest.front())) {
    return {};
  }
  text = rest;
  return scope;
}

}  // namespace

std::optional<std::string> demangle_cython(std::string_view symbol) {
  symbol = c_name(symbol);
  for (const Kind& kind : kKinds) {
    if (!symbol.starts_with(kind.prefix)) {
      continue;
    }
    std::string_view rest = symbol.substr(kind.prefix.size());
    std::string name;
    for (std::string_view scope = take_scope(rest, kind.numbered, true); !scope.empty();
         scope = take_scope(rest, kind.numbered, false)) {
      name += std::string(scope) + ".";
    }
    if (name.empty()) {
      return std::nullopt;
    }
    rest.remove_prefix(kind.numbered ? digits_of(rest) : 0);
    if (rest.empty() || is_digit(rest.front())) {
      return std::nullopt;
    }
    return name.append(rest);
  }
  return std::nullopt;
}

}  // namespace oddrank
