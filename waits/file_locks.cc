#include "waits/file_locks.h"

#include <vector>

#include "base/parse_number.h"
#include "base/split.h"

namespace oddrank::waits {
namespace {

struct Row {
  std::string_view number;  // "4:"
  bool waits = false;
  std::string_view kind;
  pid_t pid = 0;
  std::uint64_t inode = 0;
};

std::optional<Row> parse_lock_row(std::string_view line) {
  const auto words = split_blanks(line);
  Row row;
  row.waits = words.size() > 1 && words[1] == "->";
  const std::size_t first = row.waits ? 2 : 1;
  if (words.size() < first + 5) {
    return std::nullopt;
  }
  row.number = words[0];
  row.kind = words[first];
  const auto pid = parse_number<pid_t>(words[first + 3]);
  const auto device_inode = split(words[first + 4], ':');
  if (!pid || device_inode.size() != 3) {
    return std::nullopt;
  }
  row.pid = *pid;
  row.inode = parse_number<std::uint64_t>(device_inode[2]).value_or(0);
  return row;
}

}  // namespace

std::optional<FileLock> blocking_lock(std::string_view table, pid_t waiter, std::uint64_t inode) {
  std::optional<Row> held;  // the last row that is not a wait
  std::optional<FileLock> found;
  for (const std::string_view line : split(table, '\n')) {
    const auto row = parse_lock_row(line);
    if (!row) {
      continue;
    }
    if (!row->waits) {
      held = row;
      continue;
    }
    const bool ours = row->pid == waiter && (inode == 0 || row->inode == inode);
    if (!ours || !held || held->number != row->number) {
      continue;
    }
    if (found && found->holder != held->pid) {
      return std::nullopt;
    }
    found = FileLock{std::string(held->kind), held->pid, held->inode};
  }
  return found;
}

std::uint64_t inode_of_fdinfo(std::string_view fdinfo) {
  for (const std::string_view line : split(fdinfo, '\n')) {
    const auto words = split_blanks(line);
    if (words.size() == 2 && words[0] == "ino:") {
      return parse_number<std::uint64_t>(words[1]).value_or(0);
    }
  }
  return 0;
}

bool has_lock(std::string_view fdinfo, pid_t pid) {
  constexpr std::string_view kLock = "lock:";
  for (const std::string_view line : split(fdinfo, '\n')) {
    const auto row =
        line.starts_with(kLock) ? parse_lock_row(line.substr(kLock.size())) : std::nullopt;
    // A lock of an open file (OFD) belongs to no process, but to every process that has the file
    // open.
    if (row && (row->pid == pid || row->pid < 0)) {
      return true;
    }
  }
  return false;
}

}  // namespace oddrank::waits
