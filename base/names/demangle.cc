#include "base/names/demangle.h"

#include <cxxabi.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <utility>

#include "base/ascii.h"
#include "base/names/demangle_rust.h"
#include "base/parse_number.h"

namespace oddrank {

namespace {

// Longer names exist but are unreadable, and the demangler's time grows faster than its input.
constexpr std::size_t kMaxSymbol = std::size_t{32} << 10;

struct Free {
  void operator()(char* text) const { std::free(text); }
};

bool is_mangled(std::string_view symbol) {
  return symbol.starts_with("_Z");
}

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// Shortens a demangled name in one pass. The demangler's output has no strict grammar; in doubt,
// the pass keeps text rather than lose a name.
class Shortener {
 public:
  explicit Shortener(std::string_view text) : text_(text) {}

  std::string run();

 private:
  void step();
  bool rest_starts_with(std::string_view what) const { return text_.substr(at_).starts_with(what); }
  bool at_operator() const;
  // "operator<<", "operator()", "operator new[]", "operator std::vector<int>".
  void copy_operator();
  void skip_blank_before_angle();
  void copy(std::size_t count);
  // Skips arguments of the function, or of the function around a local entity:
  // "f(int)::{lambda()#1}".
  void parenthesis();
  void skip_qualifiers();
  void copy_brace();
  // Only parentheses count inside: "<" may be a comparison there.
  void skip_parenthesis();
  void skip_angle();
  void skip_to(char end);

  std::string_view text_;
  std::size_t at_ = 0;
  std::string name_;
  bool ended_ = false;
};

std::string Shortener::run() {
  while (at_ < text_.size() && !ended_) {
    step();
  }
  return std::move(name_);
}

void Shortener::step() {
  const char c = text_[at_];
  if (at_operator()) {
    copy_operator();
  } else if (c == '<') {
    skip_angle();
    name_ += "<...>";
  } else if (c == '(') {
    parenthesis();
  } else if (c == '{') {
    copy_brace();
  } else if (c == '[') {  // [abi:cxx11]
    skip_to(']');
  } else if (c == ' ') {  // the text before is a return type, or "non-virtual thunk to"
    name_.clear();
    ++at_;
  } else if (c == ')') {  // of a function that returns a function pointer
    ended_ = true;
  } else {
    name_ += c;
    ++at_;
  }
}

bool Shortener::at_operator() const {
  static constexpr std::string_view kOperator = "operator";
  const std::size_t end = at_ + kOperator.size();
  return rest_starts_with(kOperator) && (at_ == 0 || !is_word(text_[at_ - 1])) &&
         (end >= text_.size() || !is_word(text_[end]));
}

void Shortener::copy_operator() {
  copy(std::string_view("operator").size());
  if (rest_starts_with("()") || rest_starts_with("[]")) {
    copy(2);
    return;
  }
  if (rest_starts_with("\"\"")) {
    copy(2);
    return;
  }
  if (rest_starts_with(" ")) {
    copy(1);
    while (at_ < text_.size() && text_[at_] != '(') {
      if (text_[at_] == '<') {
        skip_angle();
        name_ += "<...>";
      } else {
        copy(1);
      }
    }
    return;
  }
  // Longest first: a template argument list may follow ("operator<< <int>" has a blank).
  for (const std::string_view symbol :
       {"<=>", "<<=", ">>=", "->*", "<<", ">>", "<=", ">=", "->", "==", "!=", "&&",
        "||",  "++",  "--",  "+=",  "-=", "*=", "/=", "%=", "^=", "&=", "|="}) {
    if (rest_starts_with(symbol)) {
      copy(symbol.size());
      skip_blank_before_angle();
      return;
    }
  }
  copy(1);
  skip_blank_before_angle();
}

void Shortener::skip_blank_before_angle() {
  if (rest_starts_with(" <")) {
    ++at_;
  }
}

void Shortener::copy(std::size_t count) {
  name_ += text_.substr(at_, count);
  at_ = std::min(at_ + count, text_.size());
}

void Shortener::parenthesis() {
  static constexpr std::string_view kAnonymous = "(anonymous namespace)";
  if (rest_starts_with(kAnonymous)) {
    copy(kAnonymous.size());
    return;
  }
  if (rest_starts_with("(*") || rest_starts_with("(&")) {
    name_.clear();
    at_ += 2;
    return;
  }
  const std::string_view before = text_.substr(0, at_);
  skip_parenthesis();
  if (before.ends_with("decltype") || before.ends_with("decltype ")) {
    return;
  }
  const std::size_t behind = at_;
  skip_qualifiers();
  if (!rest_starts_with("::")) {
    at_ = behind;
    ended_ = true;
  }
}

void Shortener::skip_qualifiers() {
  bool found = true;
  while (found) {
    found = false;
    for (const std::string_view qualifier :
         {" const", " volatile", " &&", " &", " noexcept", "[abi:cxx11]"}) {
      if (rest_starts_with(qualifier)) {
        at_ += qualifier.size();
        found = true;
      }
    }
  }
}

void Shortener::copy_brace() {
  std::size_t depth = 0;
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '(') {
      skip_parenthesis();
      continue;
    }
    depth += c == '{' ? 1U : 0U;
    depth -= c == '}' ? 1U : 0U;
    copy(1);
    if (depth == 0) {
      return;
    }
  }
}

void Shortener::skip_parenthesis() {
  std::size_t depth = 0;
  while (at_ < text_.size()) {
    const char c = text_[at_++];
    depth += c == '(' ? 1U : 0U;
    depth -= c == ')' ? 1U : 0U;
    if (depth == 0) {
      return;
    }
  }
}

void Shortener::skip_angle() {
  std::size_t depth = 0;
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '(') {
      skip_parenthesis();
      continue;
    }
    if (at_operator()) {  // &Type::operator< as an argument
      std::string kept = std::move(name_);
      copy_operator();
      name_ = std::move(kept);
      continue;
    }
    if (c == '>' && at_ > 0 && text_[at_ - 1] == '-') {
      ++at_;
      continue;
    }
    ++at_;
    depth += c == '<' ? 1U : 0U;
    depth -= c == '>' ? 1U : 0U;
    if (depth == 0) {
      return;
    }
  }
}

void Shortener::skip_to(char end) {
  const std::size_t found = text_.find(end, at_);
  at_ = found == std::string_view::npos ? text_.size() : found + 1;
}

// Reads the beginning of names of more than about 1000 characters, on which the demangler gives up:
// "_ZN3c1012function_refIFv..." -> "c10::function_ref<...>".
std::string first_names(std::string_view symbol) {
  symbol.remove_prefix(std::string_view("_Z").size());
  while (!symbol.empty() &&
         std::string_view("ZNKVr").find(symbol.front()) != std::string_view::npos) {
    symbol.remove_prefix(1);
  }
  std::string names;
  if (symbol.starts_with("St")) {
    symbol.remove_prefix(2);
    names = "std";
  }
  while (!symbol.empty() && std::isdigit(static_cast<unsigned char>(symbol.front())) != 0) {
    const std::size_t digits = std::min(symbol.find_first_not_of("0123456789"), symbol.size());
    const auto length = parse_number<std::size_t>(symbol.substr(0, digits));
    symbol.remove_prefix(digits);
    if (!length || *length > symbol.size()) {
      break;
    }
    const std::string_view name = symbol.substr(0, *length);
    names += names.empty() ? "" : "::";
    names += name.starts_with("_GLOBAL__N_") ? "(anonymous namespace)" : name;
    symbol.remove_prefix(*length);
  }
  return names.empty() ? names : names + (symbol.starts_with('I') ? "<...>" : "...");
}

}  // namespace

std::string demangle(std::string_view symbol) {
  if (auto cython = demangle_cython(symbol)) {
    return *std::move(cython);
  }
  if (auto rust = demangle_rust(symbol, true)) {
    return *std::move(rust);
  }
  if (!is_mangled(symbol) || symbol.size() > kMaxSymbol) {
    return std::string(symbol);
  }
  int status = 0;
  const std::unique_ptr<char, Free> name(
      abi::__cxa_demangle(std::string(symbol).c_str(), nullptr, nullptr, &status));
  return status == 0 && name != nullptr ? std::string(name.get()) : std::string(symbol);
}

std::string short_name(std::string_view symbol) {
  if (auto cython = demangle_cython(symbol)) {
    return *std::move(cython);
  }
  if (auto rust = demangle_rust(symbol, false)) {
    return *std::move(rust);
  }
  // Only mangled names are cut: Python's names ("<lambda>") pass through.
  if (!is_mangled(symbol)) {
    return std::string(symbol);
  }
  const std::string full = demangle(symbol);
  std::string name = full == symbol ? first_names(symbol) : Shortener(full).run();
  return name.empty() ? full : name;
}

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
