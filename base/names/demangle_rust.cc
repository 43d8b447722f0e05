#include "base/names/demangle_rust.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "base/ascii.h"
#include "base/parse_number.h"

namespace oddrank {
namespace {

constexpr std::size_t kMaxRustSymbol = std::size_t{16} << 10;
constexpr std::size_t kMaxName = std::size_t{16} << 10;
constexpr int kMaxDepth = 64;
// A back reference may lead to another, so the number of steps bounds the work.
constexpr int kMaxSteps = 20000;

bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}

bool is_hex(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); });
}

// "_$LT$alloc..vec..Vec$LT$T$GT$$GT$" -> "<alloc::vec::Vec<T>>"
std::string unescape(std::string_view name) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kEscapes = {
      {{"$LT$", "<"},
       {"$GT$", ">"},
       {"$RF$", "&"},
       {"$BP$", "*"},
       {"$LP$", "("},
       {"$RP$", ")"},
       {"$C$", ","},
       {"..", "::"}}};
  if (name.starts_with("_$")) {
    name.remove_prefix(1);
  }
  std::string text;
  while (!name.empty()) {
    const auto* const escape =
        std::find_if(kEscapes.begin(), kEscapes.end(),
                     [name](const auto& one) { return name.starts_with(one.first); });
    if (escape != kEscapes.end()) {
      text += escape->second;
      name.remove_prefix(escape->first.size());
      continue;
    }
    if (name.starts_with("$u")) {  // a character by its code point
      const auto end = name.find('$', 2);
      const auto code = parse_number<unsigned>(name.substr(2, end - 2), 16);
      if (end != std::string_view::npos && code && *code >= 0x20 && *code < 0x7f) {
        text += static_cast<char>(*code);
        name.remove_prefix(end + 1);
        continue;
      }
    }
    text += name.front();
    name.remove_prefix(1);
  }
  return text;
}

std::optional<std::string> demangle_legacy(std::string_view symbol) {
  constexpr std::size_t kHash = 20;  // "17h0123456789abcdefE"
  if (!symbol.starts_with("_ZN") || symbol.size() < kHash + 3) {
    return std::nullopt;
  }
  const std::string_view hash = symbol.substr(symbol.size() - kHash);
  if (!hash.starts_with("17h") || !hash.ends_with('E') || !is_hex(hash.substr(3, 16))) {
    return std::nullopt;
  }
  symbol = symbol.substr(3, symbol.size() - 3 - kHash);
  std::string text;
  while (!symbol.empty()) {
    const std::size_t digits = std::min(symbol.find_first_not_of("0123456789"), symbol.size());
    const auto length = parse_number<std::size_t>(symbol.substr(0, digits));
    symbol.remove_prefix(digits);
    if (!length || *length > symbol.size()) {
      return std::nullopt;
    }
    text += (text.empty() ? "" : "::") + unescape(symbol.substr(0, *length));
    symbol.remove_prefix(*length);
  }
  return text.empty() ? std::nullopt : std::optional(text);
}

// Recursive descent over RFC 2603. Anything unexpected makes the whole symbol bad.
class V0 {
 public:
  V0(std::string_view text, bool generics) : text_(text), generics_(generics) {}

  std::optional<std::string> run();

 private:
  // Bounds the recursion in a damaged symbol.
  class Level {
   public:
    explicit Level(V0& parser);
    ~Level() { --parser_.depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;
    Level(Level&&) = delete;
    Level& operator=(Level&&) = delete;

   private:
    V0& parser_;
  };

  char next();
  bool take(char c);
  void emit(std::string_view text);
  // Reads digits and letters up to '_': 0 is "_", 1 is "0_".
  std::size_t base62();
  void disambiguator();
  std::string_view identifier();
  // Calls `read` at an earlier place, then continues after the reference.
  template <typename Read>
  void back_reference(Read read);
  template <typename Read>
  void silently(Read read);

  void path();
  void nested();
  void implementation(char kind);
  void generic_arguments();
  void type();
  void function_type();
  void list_of_types();
  void trait_object();
  void constant();

  std::string_view text_;  // after "_R"
  bool generics_;
  std::size_t at_ = 0;
  std::string name_;
  int silent_ = 0;
  int depth_ = 0;
  int steps_ = 0;
  bool good_ = true;
};

std::optional<std::string> V0::run() {
  path();
  return good_ && !name_.empty() ? std::optional(std::move(name_)) : std::nullopt;
}

V0::Level::Level(V0& parser) : parser_(parser) {
  ++parser_.depth_;
  ++parser_.steps_;
  parser_.good_ = parser_.good_ && parser_.depth_ < kMaxDepth && parser_.steps_ < kMaxSteps;
}

char V0::next() {
  if (at_ >= text_.size()) {
    good_ = false;
    return 'E';
  }
  return text_[at_++];
}

bool V0::take(char c) {
  const bool is_there = at_ < text_.size() && text_[at_] == c;
  at_ += is_there ? 1U : 0U;
  return is_there;
}

void V0::emit(std::string_view text) {
  if (silent_ == 0 && name_.size() < kMaxName) {
    name_ += text;
  }
}

std::size_t V0::base62() {
  std::size_t value = 0;
  if (take('_')) {
    return 0;
  }
  for (char c = next(); good_ && c != '_'; c = next()) {
    const std::size_t digit = is_digit(c)   ? static_cast<std::size_t>(c - '0')
                              : is_lower(c) ? static_cast<std::size_t>(c - 'a') + 10
                                            : static_cast<std::size_t>(c - 'A') + 36;
    good_ = good_ && digit < 62;
    value = value * 62 + digit;  // hashes may wrap round; places are checked where they are used
  }
  return value + 1;
}

void V0::disambiguator() {
  if (take('s')) {
    base62();
  }
}

std::string_view V0::identifier() {
  disambiguator();
  take('u');  // punycode is shown as it is
  std::size_t length = 0;
  const std::size_t first = at_;
  if (!take('0')) {  // lengths have no leading zeros
    while (at_ < text_.size() && is_digit(text_[at_]) && length < text_.size()) {
      length = length * 10 + static_cast<std::size_t>(text_[at_++] - '0');
    }
  }
  take('_');
  if (at_ == first || length > text_.size() - at_) {
    good_ = false;
    return {};
  }
  at_ += length;
  return text_.substr(at_ - length, length);
}

template <typename Read>
void V0::back_reference(Read read) {
  const std::size_t before = at_ - 1;
  const std::size_t to = base62();
  const std::size_t behind = at_;
  if (to >= before) {
    good_ = false;
    return;
  }
  at_ = to;
  read();
  at_ = behind;
}

template <typename Read>
void V0::silently(Read read) {
  ++silent_;
  read();
  --silent_;
}

void V0::nested() {
  const char kind = next();
  path();
  const std::string_view name = identifier();
  if (is_lower(kind)) {
    emit(name.empty() ? "" : "::");
    emit(name);
    return;
  }
  emit(kind == 'C' ? "::{closure" : kind == 'S' ? "::{shim" : "::{");
  emit(name.empty() ? "" : ":");
  emit(name);
  emit("}");
}

// M: <type>, X and Y: <type as trait>. M and X also name the place of the implementation.
void V0::implementation(char kind) {
  if (kind != 'Y') {
    disambiguator();
    silently([this] { path(); });
  }
  emit("<");
  type();
  if (kind != 'M') {
    emit(" as ");
    path();
  }
  emit(">");
}

void V0::generic_arguments() {
  emit(generics_ ? "<" : "<...>");
  silent_ += generics_ ? 0 : 1;
  for (bool first = true; good_ && !take('E'); first = false) {
    emit(first ? "" : ", ");
    if (take('L')) {
      base62();
      emit("'_");
    } else if (take('K')) {
      constant();
    } else {
      type();
    }
  }
  silent_ -= generics_ ? 0 : 1;
  emit(generics_ ? ">" : "");
}

void V0::path() {
  const Level level(*this);
  if (!good_) {
    return;
  }
  const char kind = next();
  switch (kind) {
    case 'C':
      emit(identifier());
      return;
    case 'N':
      nested();
      return;
    case 'M':
    case 'X':
    case 'Y':
      implementation(kind);
      return;
    case 'I':
      path();
      generic_arguments();
      return;
    case 'B':
      back_reference([this] { path(); });
      return;
    default:
      good_ = false;
  }
}

void V0::constant() {
  const Level level(*this);
  if (!good_ || take('p')) {
    emit("_");
    return;
  }
  if (take('B')) {
    back_reference([this] { constant(); });
    return;
  }
  good_ = good_ && is_lower(next());  // the type of the number
  emit(take('n') ? "-" : "");
  const std::size_t first = at_;
  while (good_ && next() != '_') {
  }
  const auto digits = good_ ? text_.substr(first, at_ - 1 - first) : std::string_view();
  const auto value = parse_number<std::uint64_t>(digits.empty() ? "0" : digits, 16);
  emit(value ? std::to_string(*value) : "0x" + std::string(digits));
}

void V0::function_type() {
  if (take('G')) {
    base62();
  }
  take('U');
  if (take('K') && !take('C')) {
    identifier();
  }
  emit("fn(");
  list_of_types();
  emit(") -> ");
  type();
}

void V0::list_of_types() {
  for (bool first = true; good_ && !take('E'); first = false) {
    emit(first ? "" : ", ");
    type();
  }
}

void V0::trait_object() {
  if (take('G')) {
    base62();
  }
  emit("dyn ");
  for (bool first = true; good_ && !take('E'); first = false) {
    emit(first ? "" : " + ");
    path();
    while (good_ && take('p')) {  // the type of an associated type
      silently([this] {
        identifier();
        type();
      });
    }
  }
  good_ = good_ && next() == 'L';
  base62();
}

void V0::type() {
  static constexpr std::array<std::string_view, 26> kBasic = {
      "i8",    "bool", "char", "f64", "str",  "f32",  "",    "u8", "isize",
      "usize", "",     "i32",  "u32", "i128", "u128", "_",   "",   "",
      "i16",   "u16",  "()",   "...", "",     "i64",  "u64", "!"};
  const Level level(*this);
  const char kind = good_ ? next() : 'E';
  if (is_lower(kind)) {
    emit(kBasic[static_cast<std::size_t>(kind - 'a')]);
    return;
  }
  switch (kind) {
    case 'R':
    case 'Q':
      if (take('L')) {
        base62();
      }
      emit(kind == 'R' ? "&" : "&mut ");
      type();
      return;
    case 'P':
    case 'O':
      emit(kind == 'P' ? "*const " : "*mut ");
      type();
      return;
    case 'A':
    case 'S':
      emit("[");
      type();
      if (kind == 'A') {
        emit("; ");
        constant();
      }
      emit("]");
      return;
    case 'T':
      emit("(");
      list_of_types();
      emit(")");
      return;
    case 'F':
      function_type();
      return;
    case 'D':
      trait_object();
      return;
    case 'B':
      back_reference([this] { type(); });
      return;
    case 'E':
      good_ = false;
      return;
    default:
      --at_;
      path();
  }
}

}  // namespace

std::optional<std::string> demangle_rust(std::string_view symbol, bool generics) {
  if (symbol.size() > kMaxRustSymbol) {
    return std::nullopt;
  }
  if (symbol.starts_with("_R")) {
    return V0(symbol.substr(2), generics).run();
  }
  return demangle_legacy(symbol);
}

}  // namespace oddrank
