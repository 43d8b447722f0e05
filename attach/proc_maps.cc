#include "attach/proc_maps.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attach/proc_path.h"
#include "attach/proc_stat.h"
#include "base/parse_number.h"
#include "base/read_file.h"

namespace oddrank::attach {
namespace {

// A rank has about 2000 lines of 100 bytes; the kernel's default limit is 65530 mappings.
constexpr std::size_t kMaxMaps = std::size_t{64} << 20;

// Removes the next word from the line, and the blanks before it, and returns it.
std::string_view take_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  const std::string_view word = line.substr(0, line.find(' '));
  line.remove_prefix(word.size());
  return word;
}

std::optional<std::pair<std::uint64_t, std::uint64_t>> two_hex(std::string_view word,
                                                               char separator) {
  const auto at = word.find(separator);
  if (at == std::string_view::npos) {
    return std::nullopt;
  }
  const auto first = parse_number<std::uint64_t>(word.substr(0, at), 16);
  const auto second = parse_number<std::uint64_t>(word.substr(at + 1), 16);
  if (!first || !second) {
    return std::nullopt;
  }
  return std::pair(*first, *second);
}

// In a path the kernel escapes only newlines, as "\012" (seq_path with "\n").
std::string unescape(std::string_view path) {
  constexpr std::string_view kNewline = "\\012";
  std::string text;
  while (true) {
    const auto at = path.find(kNewline);
    text += path.substr(0, at);
    if (at == std::string_view::npos) {
      return text;
    }
    text += '\n';
    path.remove_prefix(at + kNewline.size());
  }
}

// "7f00-7f10 r-xp 00001000 fd:01 1234   /usr/lib/x.so"
std::optional<Mapping> parse_line(std::string_view line, const RootPath& root) {
  const auto range = two_hex(take_word(line), '-');
  const std::string_view rights = take_word(line);
  const auto offset = parse_number<std::uint64_t>(take_word(line), 16);
  const auto device = two_hex(take_word(line), ':');
  const auto inode = parse_number<std::uint64_t>(take_word(line));
  if (!range || rights.size() != 4 || !offset || !device || !inode) {
    return std::nullopt;
  }
  Mapping mapping;
  mapping.start = range->first;
  mapping.end = range->second;
  mapping.readable = rights[0] == 'r';
  mapping.writable = rights[1] == 'w';
  mapping.executable = rights[2] == 'x';
  mapping.shared = rights[3] == 's';
  mapping.file_offset = *offset;
  mapping.device = static_cast<std::uint32_t>(device->first << 20U | device->second);
  mapping.inode = *inode;
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  set_mapped_path(unescape(line), root, mapping);
  return mapping;
}

}  // namespace

void set_mapped_path(std::string_view path, const RootPath& root, Mapping& mapping) {
  const ProcPath name = proc_path(path);
  mapping.path = root.below(name.path);
  mapping.deleted = name.deleted;
}

MemoryMap parse_proc_maps(std::string_view text, const RootPath& root) {
  std::vector<Mapping> mappings;
  while (!text.empty()) {
    const auto end = text.find('\n');
    if (end == std::string_view::npos) {
      break;  // cut in the middle: its path may be the beginning of another
    }
    if (auto mapping = parse_line(text.substr(0, end), root)) {
      mappings.push_back(*std::move(mapping));
    }
    text.remove_prefix(end + 1);
  }
  return MemoryMap(std::move(mappings));
}

Result<MemoryMap> read_proc_maps(pid_t pid) {
  ODDRANK_TRY(const std::string text, read_file(process_folder(pid) + "/maps", kMaxMaps));
  return parse_proc_maps(text, RootPath::of(pid));
}

}  // namespace oddrank::attach
