#include "waits/awaited_files.h"

#include <algorithm>
#include <utility>

namespace oddrank::waits {
namespace {

using attach::FdKind;
using attach::OpenFd;

bool has_other_end(const OpenFd& file) {
  return (file.kind == FdKind::kPipe || file.kind == FdKind::kSocket) && file.inode != 0;
}

}  // namespace

std::vector<NamedFile> listed_files(std::vector<NamedFile> files) {
  const auto others = std::stable_partition(files.begin(), files.end(), [](const NamedFile& file) {
    return has_other_end(attach::parse_fd_link(file.fd, file.link));
  });
  std::stable_partition(files.begin(), others,
                        [](const NamedFile& file) { return !file.tells_end; });
  files.resize(std::min(files.size(), snapshot::kMaxAwaited));
  return files;
}

AwaitedFiles awaited_files(const snapshot::Wait& wait, const snapshot::Tables& tables) {
  const std::string_view path = tables.text(wait.path);
  if (!path.empty()) {
    const OpenFd file = attach::parse_fd_link(wait.fd, path);
    return has_other_end(file) ? AwaitedFiles{{file}, true} : AwaitedFiles{{}, false};
  }
  AwaitedFiles files;
  for (const snapshot::AwaitedFile& each : wait.rare->awaited) {
    OpenFd file = attach::parse_fd_link(each.fd, tables.text(each.link));
    if (!has_other_end(file)) {
      break;
    }
    files.ends.push_back(std::move(file));
  }
  files.all = !files.ends.empty() && files.ends.size() == wait.rare->awaited_count;
  return files;
}

bool is_named_pipe(const snapshot::Wait& wait, const snapshot::Tables& tables) {
  const std::string_view path = tables.text(wait.path);
  return wait.fd >= 0 && ((wait.on == snapshot::WaitOn::kPipe && path.starts_with("/dev/pts/")) ||
                          (wait.on == snapshot::WaitOn::kFile && path.starts_with('/') &&
                           tables.text(wait.wchan).find("pipe_") != std::string_view::npos));
}

Inodes awaited_inodes(const snapshot::ProcessCapture& process,
                      FdKind kind,
                      const snapshot::Tables& tables) {
  Inodes inodes;
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
