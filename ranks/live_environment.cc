#include "ranks/live_environment.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "elf/symbol_address.h"
#include "snapshot/libraries/known_libraries.h"

namespace oddrank::ranks {
namespace {

using attach::Addr;
using attach::Mapping;
using attach::ReadRequest;
using attach::Target;
using elf::Module;

constexpr std::size_t kMaxVariables = 16384;
constexpr std::size_t kPointersAtOnce = 512;
constexpr std::size_t kHeadBytes = 48;       // longer than any name that is kept
constexpr std::size_t kMaxEntryBytes = 640;  // a name and as much of its value as is kept
// How much of a static program's data is searched, and how many pointers in it are followed.
constexpr std::uint64_t kMaxSearched = std::uint64_t{4} << 20;
constexpr std::size_t kMaxFollowed = 16384;
constexpr std::uint64_t kLowestPointer = 4096;
constexpr std::uint64_t kHighestPointer = std::uint64_t{1} << 47;  // of a program on x86-64

constexpr std::array<std::string_view, 3> kNames = {"environ", "__environ", "_environ"};

// Returns the pointers of an array that ends with null; empty if it does not end in time.
std::vector<std::uint64_t> read_array(const Target& target, Addr array) {
  std::vector<std::uint64_t> pointers;
  while (pointers.size() < kMaxVariables) {
    std::array<std::uint64_t, kPointersAtOnce> some{};
    ReadRequest request{array + pointers.size() * sizeof(std::uint64_t),
                        std::as_writable_bytes(std::span(some)), 0};
    target.read_many(std::span(&request, 1));
    const std::size_t got = request.got / sizeof(std::uint64_t);
    const auto end = some.begin() + static_cast<std::ptrdiff_t>(got);
    const auto null = std::find(some.begin(), end, 0);
    pointers.insert(pointers.end(), some.begin(), null);
    if (null != end) {
      return pointers;
    }
    if (got < some.size()) {
      break;
    }
  }
  return {};
}

// Reads a text at each address, as far as `size` bytes go.
std::vector<std::string> read_texts(const Target& target,
                                    const std::vector<std::uint64_t>& addresses,
                                    std::size_t size) {
  std::vector<std::byte> bytes(addresses.size() * size);
  std::vector<ReadRequest> requests;
  requests.reserve(addresses.size());
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    requests.push_back({Addr{addresses[i]}, std::span(bytes).subspan(i * size, size), 0});
  }
  target.read_many(requests);
  std::vector<std::string> texts;
  texts.reserve(addresses.size());
  for (const ReadRequest& request : requests) {
    const std::string_view all(reinterpret_cast<const char*>(request.into.data()), request.got);
    texts.emplace_back(all.substr(0, all.find('\0')));
  }
  return texts;
}

bool begins_like_a_variable(std::string_view text) {
  const auto equals = text.find('=');
  return equals != std::string_view::npos && equals > 0 &&
         std::all_of(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(equals), [](char c) {
           return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                  c == '_';
         });
}

bool is_kept(std::string_view entry) {
  const auto kept = attach::kept_variables();
  return std::find(kept.begin(), kept.end(), entry.substr(0, entry.find('='))) != kept.end();
}

attach::Environment read_variables(const Target& target,
                                   const std::vector<std::uint64_t>& pointers) {
  const std::vector<std::string> heads = read_texts(target, pointers, kHeadBytes);
  std::vector<std::uint64_t> wanted;
  for (std::size_t i = 0; i < heads.size(); ++i) {
    if (heads[i].find('=') != std::string::npos && is_kept(heads[i])) {
      wanted.push_back(pointers[i]);
    }
  }
  std::string block;
  for (const std::string& entry : read_texts(target, wanted, kMaxEntryBytes)) {
    block.append(entry);
    block.push_back('\0');
  }
  return attach::parse_proc_environ(block);
}

// Returns the writable memory of a program: its data and what follows that without a gap (its bss).
std::vector<const Mapping*> writable_memory(const Target& target, const Module& program) {
  std::vector<const Mapping*> found;
  std::uint64_t end = 0;
  for (const Mapping& mapping : target.maps().listed()) {
    if (mapping.writable && mapping.readable && mapping.inode != 0 &&
        mapping.inode == program.mapping->inode && mapping.device == program.mapping->device) {
      found.push_back(&mapping);
      end = mapping.end;
    }
  }
  const Mapping* behind = end == 0 ? nullptr : target.maps().find(Addr{end});
  if (behind != nullptr && behind->inode == 0 && behind->writable && behind->readable) {
    found.push_back(behind);
  }
  return found;
}

// Returns the different words of the program's data that may be pointers to arrays.
std::vector<std::uint64_t> pointers_to_follow(const Target& target, const Module& program) {
  std::vector<std::uint64_t> words;
  std::uint64_t left = kMaxSearched;
  for (const Mapping* mapping : writable_memory(target, program)) {
    std::vector<std::uint64_t> some(std::min(left, mapping->end - mapping->start) /
                                    sizeof(std::uint64_t));
    left -= some.size() * sizeof(std::uint64_t);
    ReadRequest request{Addr{mapping->start}, std::as_writable_bytes(std::span(some)), 0};
    target.read_many(std::span(&request, 1));
    some.resize(request.got / sizeof(std::uint64_t));
    std::copy_if(some.begin(), some.end(), std::back_inserter(words), [&](std::uint64_t word) {
      return word > kLowestPointer && word < kHighestPointer && word % sizeof(std::uint64_t) == 0 &&
             target.maps().find(Addr{word}) != nullptr;
    });
  }
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  words.resize(std::min(words.size(), kMaxFollowed));
  return words;
}

// Finds the array of a static program without symbols: a pointer in its data to pointers to texts
// of the form NAME=VALUE. If the program has made a new array, the first one, on the stack, is not
// the current one.
std::vector<std::uint64_t> search_array(const Target& target, const Module& program) {
  const std::vector<std::uint64_t> words = pointers_to_follow(target, program);
  std::vector<std::uint64_t> firsts(words.size());
  std::vector<ReadRequest> requests;
  for (std::size_t i = 0; i < words.size(); ++i) {
    requests.push_back({Addr{words[i]}, std::as_writable_bytes(std::span(&firsts[i], 1)), 0});
  }
  target.read_many(requests);
  const std::vector<std::string> texts = read_texts(target, firsts, kHeadBytes);
  std::vector<std::uint64_t> found;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!begins_like_a_variable(texts[i])) {
      continue;
    }
    std::vector<std::uint64_t> array = read_array(target, Addr{words[i]});
    const auto heads = read_texts(target, array, kHeadBytes);
    const bool whole =
        !array.empty() && std::all_of(heads.begin(), heads.end(), [](const std::string& head) {
          return head.size() == kHeadBytes || begins_like_a_variable(head);
        });
    const Mapping* home = target.maps().find(Addr{words[i]});
    const bool on_stack = home != nullptr && home->path == "[stack]";
    if (whole && (!on_stack || found.empty())) {
      found = std::move(array);
      if (!on_stack) {
        break;
      }
    }
  }
  return found;
}

}  // namespace

Result<attach::Environment> read_live_environment(const Target& target, elf::ModuleMap& modules) {
  const std::vector<Module>& all = modules.modules();
  // The program itself has the lowest address of all files; the vdso is no file.
  const auto first = std::find_if(all.begin(), all.end(),
                                  [](const Module& module) { return module.mapping->inode != 0; });
  bool has_libc = false;
  for (auto at = first; at != all.end(); ++at) {
    if (at != first && snapshot::library_of(at->path) != snapshot::Library::kLibc) {
      continue;
    }
    has_libc = has_libc || at != first;
    const Addr pointer = elf::symbol_address(target, modules, *at, kNames, sizeof(std::uint64_t));
    const auto array = pointer == Addr{} ? Result<std::uint64_t>(std::uint64_t{0})
                                         : attach::read_object<std::uint64_t>(target, pointer);
    if (!array || *array == 0) {
      continue;
    }
    const std::vector<std::uint64_t> pointers = read_array(target, Addr{*array});
    if (pointers.empty()) {
      return fail(Errc::kBadData, "environ of pid " + std::to_string(target.pid()) +
                                      " does not point to variables");
    }
    return read_variables(target, pointers);
  }
  const std::vector<std::uint64_t> pointers =
      has_libc || first == all.end() ? std::vector<std::uint64_t>() : search_array(target, *first);
  if (pointers.empty()) {
    return fail(Errc::kNotFound, "no environ was found in pid " + std::to_string(target.pid()));
  }
  return read_variables(target, pointers);
}

}  // namespace oddrank::ranks
