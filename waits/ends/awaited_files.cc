#include "waits/ends/awaited_files.h"

#include <algorithm>

#include "base/parse_number.h"
#include "base/split.h"

namespace oddrank::waits {
namespace {

using attach::FdKind;
using attach::OpenFd;

constexpr std::size_t kListed = 8;
constexpr std::string_view kHead = " files (";

bool has_other_end(const OpenFd& file) {
  return (file.kind == FdKind::kPipe || file.kind == FdKind::kSocket) && file.inode != 0;
}

// Ends at the first entry that is no pipe or socket: a path may contain anything, also what looks
// like further entries.
AwaitedFiles parse_list(std::string_view list) {
  AwaitedFiles files;
  while (files.ends.size() < kListed) {
    const auto comma = list.find(',');
    const auto words = split_blanks(list.substr(0, comma));
    const auto fd = words.size() == 2 ? parse_number<int>(words[0]) : std::nullopt;
    const OpenFd file = fd ? attach::parse_fd_link(*fd, words[1]) : OpenFd{};
    if (!has_other_end(file)) {
      files.all = false;
      return files;
    }
    files.ends.push_back(file);
    if (comma == std::string_view::npos) {
      return files;
    }
    list.remove_prefix(comma + 1);
  }
  files.all = false;
  return files;
}

}  // namespace

std::string list_files(std::vector<NamedFile> files, std::size_t count) {
  std::stable_partition(files.begin(), files.end(), [](const NamedFile& file) {
    return has_other_end(attach::parse_fd_link(file.fd, file.link));
  });
  std::string text = " of " + std::to_string(count) + std::string(kHead);
  for (std::size_t i = 0; i < std::min(files.size(), kListed); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(files[i].fd) + " " + files[i].link;
  }
  return text + (count > std::min(files.size(), kListed) ? ", ...)" : ")");
}

AwaitedFiles awaited_files(const snapshot::Wait& wait, const snapshot::Tables& tables) {
  const std::string_view path = tables.text(wait.path);
  if (!path.empty()) {
    const OpenFd file = attach::parse_fd_link(wait.fd, path);
    return has_other_end(file) ? AwaitedFiles{{file}, true} : AwaitedFiles{{}, false};
  }
  const std::string_view detail = tables.text(wait.detail);
  const auto head = detail.find(kHead);
  if (head == std::string_view::npos) {
    return {{}, false};
  }
  const std::string_view list = detail.substr(head + kHead.size());
  return parse_list(list.substr(0, list.find(')')));
}

std::set<std::uint64_t> awaited_inodes(const snapshot::ProcessCapture& process,
                                       FdKind kind,
                                       const snapshot::Tables& tables) {
  std::set<std::uint64_t> inodes;
  for (const snapshot::ThreadCapture& thread : process.threads) {
    for (const OpenFd& file : awaited_files(thread.wait, tables).ends) {
      if (file.kind == kind) {
        inodes.insert(file.inode);
      }
    }
  }
  return inodes;
}

}  // namespace oddrank::waits
