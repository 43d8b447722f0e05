#include "waits/file_locks.h"

#include <utility>
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

constexpr std::string_view kLockLine = "lock:";

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

// "4: FLOCK  ADVISORY  WRITE 8350 fe:00:2146641 0 EOF": the device's numbers are hexadecimal.
std::optional<HeldLock> parse_held_lock(std::string_view line) {
  const auto words = split_blanks(line);
  if (words.size() < 8 || words[1] == "->") {
    return std::nullopt;
  }
  const auto pid = parse_number<pid_t>(words[4]);
  const auto file = split(words[5], ':');
  const auto start = parse_number<std::uint64_t>(words[6]);
  if (!pid || !start || file.size() != 3) {
    return std::nullopt;
  }
  const auto major = parse_number<std::uint32_t>(file[0], 16);
  const auto minor = parse_number<std::uint32_t>(file[1], 16);
  const auto inode = parse_number<std::uint64_t>(file[2]);
  if (!major || !minor || !inode) {
    return std::nullopt;
  }
  return HeldLock{std::string(words[1]),
                  words[3] == "WRITE",
                  *pid,
                  {std::uint64_t{*major} << 32 | *minor, *inode},
                  *start};
}

std::optional<std::uint64_t> value_of_fdinfo(std::string_view fdinfo, std::string_view name) {
  for (const std::string_view line : split(fdinfo, '\n')) {
    const auto words = split_blanks(line);
    if (words.size() == 2 && words[0] == name) {
      return parse_number<std::uint64_t>(words[1]);
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<FileLock> blocking_lock(std::string_view table, pid_t waiter, std::uint64_t inode) {
  std::optional<Row> held;  // the last row of a held lock
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

std::vector<HeldLock> held_locks(std::string_view table) {
  std::vector<HeldLock> locks;
  for (const std::string_view line : split(table, '\n')) {
    auto lock = parse_held_lock(line);
    if (lock && locks.size() < kMaxHeldLocks) {
      locks.push_back(std::move(*lock));
    }
  }
  return locks;
}

std::vector<HeldLock> locks_of_fdinfo(std::string_view fdinfo) {
  std::string table;
  for (const std::string_view line : split(fdinfo, '\n')) {
    if (line.starts_with(kLockLine)) {
      table += std::string(line.substr(kLockLine.size())) + "\n";
    }
  }
  return held_locks(table);
}

std::uint64_t mount_of_fdinfo(std::string_view fdinfo) {
  return value_of_fdinfo(fdinfo, "mnt_id:").value_or(0);
}

std::uint64_t inode_of_fdinfo(std::string_view fdinfo) {
  return value_of_fdinfo(fdinfo, "ino:").value_or(0);
}

std::optional<std::uint64_t> terminal_of_fdinfo(std::string_view fdinfo) {
  return value_of_fdinfo(fdinfo, "tty-index:");
}

bool has_lock(std::string_view fdinfo, pid_t pid) {
  for (const std::string_view line : split(fdinfo, '\n')) {
    const auto row =
        line.starts_with(kLockLine) ? parse_lock_row(line.substr(kLockLine.size())) : std::nullopt;
    // A lock of an open file (OFD) belongs to no process, but to every process that has the file
    // open.
    if (row && (row->pid == pid || row->pid < 0)) {
      return true;
    }
  }
  return false;
}

}  // namespace oddrank::waits
