// At exec the kernel lays the main stack out like this (binfmt_elf.c, create_elf_tables), from low
// to high addresses:
//
//   argc | argv[0..] NULL | envp[0..] NULL | auxiliary vector | ... | argument strings |
//   environment strings | name of the program | top of the stack
//
// The auxiliary vector is in the core's notes, too: AT_RANDOM points just above it, AT_EXECFN to
// the program's name. So it can be found on the stack, argv below it, and the environment is what
// lies between the last argument and the name. envp is not used: setenv() and unsetenv() change
// it, the strings stay.
#include "attach/core/core_start.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

namespace oddrank::attach {
namespace {

constexpr std::uint64_t kWord = sizeof(std::uint64_t);
// Between the auxiliary vector and AT_RANDOM lie only short strings, such as the platform's name.
constexpr std::uint64_t kAboveVector = 4096;
constexpr std::uint64_t kMaxPointers = std::uint64_t{1} << 17;  // as many as fit in 1 MiB
constexpr std::uint64_t kMaxArguments = std::uint64_t{8} << 20;

// Reads the `size` bytes before `end`, or as many of them as one mapping has.
std::vector<std::byte> read_below(const Target& target, std::uint64_t end, std::uint64_t size) {
  const Mapping* mapping = target.maps().find(Addr{end - 1});
  if (mapping == nullptr) {
    return {};
  }
  std::vector<std::byte> bytes(std::min(size, end - mapping->start));
  if (!target.read(Addr{end - bytes.size()}, bytes)) {
    return {};
  }
  return bytes;
}

std::vector<std::uint64_t> words_of(std::span<const std::byte> bytes) {
  std::vector<std::uint64_t> words(bytes.size() / kWord);
  if (!words.empty()) {
    std::memcpy(words.data(), bytes.data(), words.size() * kWord);
  }
  return words;
}

// Returns where the auxiliary vector lies on the stack.
std::optional<std::uint64_t> find_vector(const Target& target, const CoreNotes& notes) {
  const auto random = notes.auxiliary_value(AT_RANDOM);
  if (!random || notes.auxiliary.size() < 4 || *random < kAboveVector) {
    return std::nullopt;
  }
  const std::uint64_t size = notes.auxiliary.size() * kWord;
  const std::uint64_t end = *random & ~(kWord - 1);
  const auto words = words_of(read_below(target, end, size + kAboveVector));
  const auto found =
      std::find_end(words.begin(), words.end(), notes.auxiliary.begin(), notes.auxiliary.end());
  if (found == words.end()) {
    return std::nullopt;
  }
  return end - static_cast<std::uint64_t>(words.end() - found) * kWord;
}

// Returns argv: ascending pointers into the strings, whose number is the word before them. `words`
// end where the auxiliary vector begins.
std::vector<std::uint64_t> find_arguments(const std::vector<std::uint64_t>& words,
                                          std::uint64_t lowest,
                                          std::uint64_t highest) {
  for (std::size_t null = words.size(); null-- > 0;) {
    if (words[null] != 0) {
      continue;
    }
    std::size_t first = null;
    std::uint64_t above = highest;
    while (first > 0 && words[first - 1] >= lowest && words[first - 1] < above) {
      above = words[--first];
    }
    if (first > 0 && first < null && words[first - 1] == null - first) {
      return {words.begin() + static_cast<std::ptrdiff_t>(first),
              words.begin() + static_cast<std::ptrdiff_t>(null)};
    }
  }
  return {};
}

}  // namespace

CoreStart read_core_start(const Target& target, const CoreNotes& notes) {
  CoreStart start;
  const auto vector = find_vector(target, notes);
  const auto name = notes.auxiliary_value(AT_EXECFN);
  if (!vector || !name || *name <= *vector) {
    return start;
  }
  const auto pointers =
      find_arguments(words_of(read_below(target, *vector, kMaxPointers * kWord)), *vector, *name);
  if (pointers.empty()) {
    return start;
  }
  std::string text(std::min(*name - pointers.front(), kMaxArguments), '\0');
  if (!target.read(Addr{pointers.front()}, std::as_writable_bytes(std::span(text)))) {
    return start;
  }
  start.found = true;
  std::string_view rest(text);
  for (std::size_t i = 0; i < pointers.size() && !rest.empty(); ++i) {
    const std::string_view argument = rest.substr(0, rest.find('\0'));
    start.arguments.emplace_back(argument);
    rest.remove_prefix(std::min(argument.size() + 1, rest.size()));
  }
  start.environment = parse_proc_environ(rest);
  return start;
}

}  // namespace oddrank::attach
