// libstdc++ (libsupc++/unwind-cxx.h): an exception lies behind a header, __cxa_exception, that ends
// with an _Unwind_Exception, whose first word is the class "GNUCC++\0". The caller of
// std::terminate() has marked the exception as caught, and keeps a pointer to that on the stack.
//
// Heuristic: pointers are searched on the stack. A stale pointer to an exception that was caught by
// now finds memory that was freed, or a count of handlers that is 0.
#include "ranks/cores/thrown_exception.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/names/demangle.h"
#include "base/split.h"

namespace oddrank::ranks {
namespace {

using attach::Addr;

constexpr std::uint64_t kWord = sizeof(std::uint64_t);
constexpr std::size_t kMaxSearchedStack = std::size_t{64} << 10;  // bytes of the stack

// Offsets from the _Unwind_Exception: 80 bytes of __cxa_exception before it, 32 of its own.
constexpr std::uint64_t kTypeBefore = 80;
constexpr std::uint64_t kHandlersBefore = 40;
constexpr std::uint64_t kObjectBehind = 32;

template <typename T>
std::optional<T> object_at(const attach::CoreTarget& target, std::uint64_t address) {
  T value{};
  return target.read(Addr{address}, std::as_writable_bytes(std::span(&value, 1)))
             ? std::optional(value)
             : std::nullopt;
}

// Returns at most `size` bytes up to a NUL; "" if the memory cannot be read.
std::string text_at(const attach::CoreTarget& target, std::uint64_t address, std::uint64_t size) {
  constexpr std::uint64_t kMaxText = 1024;
  constexpr std::uint64_t kPart = 64;
  std::string text;
  for (const std::uint64_t most = std::min(size, kMaxText); text.size() < most;) {
    std::array<char, kPart> part{};
    const auto wanted = static_cast<std::size_t>(std::min(kPart, most - text.size()));
    if (!target.read(Addr{address + text.size()},
                     std::as_writable_bytes(std::span(part).first(wanted)))) {
      break;
    }
    const std::string_view read(part.data(), wanted);
    text += read.substr(0, read.find('\0'));
    if (read.find('\0') != std::string_view::npos) {
      break;
    }
  }
  return text;
}

// Returns the words of the stack, as far as they are in the core.
std::vector<std::uint64_t> stack_words(const attach::CoreTarget& target, std::uint64_t from) {
  constexpr std::size_t kPart = 16;  // words; the stack may end anywhere
  std::vector<std::uint64_t> words;
  while (words.size() * kWord < kMaxSearchedStack) {
    std::vector<std::uint64_t> part(kPart);
    if (!target.read(Addr{from + words.size() * kWord}, std::as_writable_bytes(std::span(part)))) {
      break;
    }
    words.insert(words.end(), part.begin(), part.end());
  }
  return words;
}

// Returns the mangled name of a type, from its std::type_info.
std::string name_of(const attach::CoreTarget& target, std::uint64_t type) {
  constexpr std::uint64_t kMaxName = 512;
  const auto name = object_at<std::uint64_t>(target, type + kWord);
  std::string text = name ? text_at(target, *name, kMaxName) : std::string();
  return text.starts_with('*') ? text.substr(1) : text;  // not unique among modules
}

// Returns what() of the exception; "" if it is unknown how its type keeps it.
std::string words_of(const attach::CoreTarget& target, std::uint64_t type, std::uint64_t object) {
  constexpr int kMaxBases = 8;
  constexpr std::uint64_t kBase = 16;  // in the type_info of a class with one base
  for (int i = 0; i < kMaxBases; ++i) {
    const std::string name = name_of(target, type);
    const auto text = object_at<std::uint64_t>(target, object + kWord);
    if (name == "St13runtime_error" || name == "St11logic_error") {
      return text ? text_at(target, *text, UINT64_MAX) : "";
    }
    if (name == "N3c105ErrorE") {  // PyTorch's: a std::string is its first member
      const auto size = object_at<std::uint64_t>(target, object + 2 * kWord);
      return text && size ? text_at(target, *text, *size) : "";
    }
    const auto base = object_at<std::uint64_t>(target, type + kBase);
    if (name.empty() || !base) {
      return {};
    }
    type = *base;
  }
  return {};
}

std::string describe(const attach::CoreTarget& target, std::uint64_t exception) {
  constexpr std::uint64_t kClass = 0x474e5543432b2b00;  // "GNUCC++\0", the first letter highest
  const auto mark = object_at<std::uint64_t>(target, exception);
  const auto handlers = object_at<std::int32_t>(target, exception - kHandlersBefore);
  const auto type = object_at<std::uint64_t>(target, exception - kTypeBefore);
  if (!mark || *mark != kClass || !handlers || *handlers <= 0 || !type) {
    return {};
  }
  const std::string name = name_of(target, *type);
  constexpr std::string_view kTypeInfo = "typeinfo for ";
  const std::string shown = demangle("_ZTI" + name);
  if (name.empty() || !shown.starts_with(kTypeInfo)) {
    return {};
  }
  const std::string words(trim(words_of(target, *type, exception + kObjectBehind)));
  return "terminate called after throwing an instance of '" + shown.substr(kTypeInfo.size()) + "'" +
         (words.empty() ? "" : ": " + words);
}

}  // namespace

std::string thrown_exception(const attach::CoreTarget& target) {
  const auto& threads = target.core().notes().threads;
  if (threads.empty()) {
    return {};
  }
  for (const std::uint64_t word : stack_words(target, threads.front().stopped.registers.sp)) {
    if (word >= kTypeBefore && word % kWord == 0) {
      if (std::string text = describe(target, word); !text.empty()) {
        return text;
      }
    }
  }
  return {};
}

}  // namespace oddrank::ranks
