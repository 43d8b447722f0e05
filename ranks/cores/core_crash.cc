// glibc keeps the last message of __libc_message (assert, malloc, stack protector) for debuggers:
// `__abort_msg` points to a size and the text (sysdeps/posix/libc_fatal.c, assert/assert.c; since
// 2.11, exported as GLIBC_PRIVATE).
#include "ranks/cores/core_crash.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/names/demangle.h"
#include "base/secrets/mask_secrets.h"
#include "base/split.h"
#include "elf/elf_image.h"
#include "elf/module_map.h"
#include "snapshot/libraries/known_libraries.h"

namespace oddrank::ranks {
namespace {

using attach::Addr;

// gcore and debuggers stop the process with signals that do not end it.
bool ends_the_process(int number) {
  return number > 0 && number != SIGTRAP && number != SIGSTOP && number != SIGTSTP &&
         number != SIGCONT && number != SIGCHLD;
}

std::uint64_t word_at(const attach::CoreTarget& target, Addr address) {
  std::uint64_t word = 0;
  return target.read(address, std::as_writable_bytes(std::span(&word, 1))) ? word : 0;
}

// Returns the message, without the end of its line; "" if there is none.
std::string message_at(const attach::CoreTarget& target, Addr address) {
  constexpr std::size_t kMaxMessage = 1024;
  std::string text(kMaxMessage, '\0');
  const std::uint64_t message = word_at(target, address);
  const std::uint64_t size = word_at(target, Addr{message}) & 0xffffffff;
  if (message == 0 || size == 0) {
    return {};
  }
  text.resize(std::min<std::uint64_t>(size, kMaxMessage));
  if (!target.read(Addr{message + sizeof(std::uint32_t)},
                   std::as_writable_bytes(std::span(text)))) {
    return {};
  }
  text.resize(std::min(text.find('\0'), text.size()));
  return std::string(trim(text));
}

std::string abort_message(const attach::CoreTarget& target) {
  elf::ModuleMap modules(target);
  for (const elf::Module& module : modules.modules()) {
    if (snapshot::library_of(module.path) != snapshot::Library::kLibc) {
      continue;
    }
    const auto image = modules.image_of(module);
    const auto bias = modules.load_bias(module);
    const auto symbol = image ? (*image)->symbol("__abort_msg") : std::nullopt;
    if (symbol && bias) {
      return message_at(target, Addr{symbol->address + *bias});
    }
  }
  return {};
}

// libstdc++ (libsupc++/unwind-cxx.h): an exception lies behind a header, __cxa_exception, that ends
// with an _Unwind_Exception, whose first word is the class "GNUCC++\0". The caller of
// std::terminate() has marked the exception as caught, and keeps a pointer to that on the stack.
//
// Heuristic: pointers are searched on the stack. A stale pointer to an exception that was caught by
// now finds memory that was freed, or a count of handlers that is 0.

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

snapshot::Crash find_crash(const attach::CoreTarget& target, snapshot::Tables& tables) {
  const attach::CoreNotes& notes = target.core().notes();
  snapshot::Crash crash;
  if (notes.threads.empty()) {
    return crash;
  }
  const attach::CoreThread& first = notes.threads.front();
  const int number = notes.signal ? notes.signal->number : first.signal;
  if (!ends_the_process(number)) {
    return crash;
  }
  crash.signal = number;
  crash.tid = first.tid;
  if (notes.signal) {
    crash.code = notes.signal->code;
    crash.address = notes.signal->address;
    crash.sender = notes.signal->sender;
  }
  if (number == SIGABRT) {
    crash.message = tables.string(mask_text(abort_message(target)));
  }
  return crash;
}

}  // namespace oddrank::ranks
