#include "cpython/version.h"

#include "base/ascii.h"
#include "base/base_name.h"
#include "base/parse_number.h"

namespace oddrank::cpython {
namespace {

// Later versions have the symbol Py_Version. This bound avoids mistaking version numbers of other
// libraries for Python's.
constexpr std::uint32_t kLastWithoutSymbol = 10;

// Removes the digits at the front of `text`; nullopt if there are none or too many.
std::optional<std::uint32_t> take_number(std::string_view& text) {
  std::size_t digits = 0;
  while (digits < text.size() && is_digit(text[digits])) {
    ++digits;
  }
  if (digits == 0 || digits > 3) {
    return std::nullopt;
  }
  const auto number = parse_number<std::uint32_t>(text.substr(0, digits));
  text.remove_prefix(digits);
  return number;
}

bool take_prefix(std::string_view& text, std::string_view prefix) {
  if (text.substr(0, prefix.size()) != prefix) {
    return false;
  }
  text.remove_prefix(prefix.size());
  return true;
}

// Reads "3.MINOR.PATCH" and perhaps "a1", "b2", "rc1", "+", up to the NUL.
std::optional<Version> constant_at(std::string_view text, std::optional<std::uint32_t> minor) {
  const std::string_view whole = text.substr(0, text.find('\0'));
  if (whole.size() == text.size() || whole.size() > 16) {
    return std::nullopt;
  }
  std::string_view rest = whole;
  if (!take_prefix(rest, "3.")) {
    return std::nullopt;
  }
  const auto found = take_number(rest);
  if (!found || *found > kLastWithoutSymbol || (minor && *found != *minor) ||
      !take_prefix(rest, ".") || !take_number(rest)) {
    return std::nullopt;
  }
  if (rest.find_first_not_of("abrc0123456789+") != std::string_view::npos) {
    return std::nullopt;
  }
  return Version{3, *found, std::string(whole)};
}

}  // namespace

std::optional<Version> version_from_hex(std::uint64_t hex) {
  const auto byte = [hex](unsigned shift) {
    return static_cast<std::uint32_t>(hex >> shift & 0xff);
  };
  if (hex >> 32 != 0 || byte(24) != 3 || byte(16) > 99) {
    return std::nullopt;
  }
  Version version{byte(24), byte(16), {}};
  version.text = "3." + std::to_string(byte(16)) + "." + std::to_string(byte(8));
  const std::uint32_t level = byte(0) >> 4;  // a, b, c (candidate), f (final)
  if (level == 0xa || level == 0xb || level == 0xc) {
    version.text += level == 0xa ? "a" : level == 0xb ? "b" : "rc";
    version.text += std::to_string(byte(0) & 0xf);
  } else if (level != 0xf) {
    return std::nullopt;
  }
  return version;
}

std::optional<Version> version_from_file_name(std::string_view path) {
  std::string_view name = base_name(path);
  take_prefix(name, "lib");
  if (!take_prefix(name, "python")) {
    return std::nullopt;
  }
  const auto major = take_number(name);
  if (!major || !take_prefix(name, ".")) {
    return std::nullopt;
  }
  const auto minor = take_number(name);
  if (!minor || *major < 2 || *major > 3) {
    return std::nullopt;
  }
  while (!name.empty() && std::string_view("mdut").find(name.front()) != std::string_view::npos) {
    name.remove_prefix(1);
  }
  if (!name.empty() && name.front() != '.') {
    return std::nullopt;  // "python3.11-config"
  }
  return Version{*major, *minor, std::to_string(*major) + "." + std::to_string(*minor)};
}

std::optional<Version> version_from_constants(std::string_view bytes,
                                              std::optional<std::uint32_t> minor) {
  constexpr std::string_view kStart = "3.";
  for (auto at = bytes.find(kStart); at != std::string_view::npos;
       at = bytes.find(kStart, at + 1)) {
    // Not the end of "13.2" or "1.3.0". Other text may precede it: the linker keeps one copy of a
    // constant and of a longer one that ends with it ("/usr/local/python/3.8.18").
    if (at > 0 && (is_digit(bytes[at - 1]) || bytes[at - 1] == '.')) {
      continue;
    }
    if (auto version = constant_at(bytes.substr(at), minor)) {
      return version;
    }
  }
  return std::nullopt;
}

}  // namespace oddrank::cpython
