#include "waits/node/polled_locks.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "base/parse_number.h"
#include "base/read_file.h"
#include "base/split.h"
#include "waits/node/lock_polls.h"
#include "waits/node/lock_search.h"
#include "waits/node/node_family.h"

namespace oddrank::waits {
namespace {

using snapshot::Capture;
using snapshot::ProcessCapture;
using snapshot::Wait;

constexpr std::size_t kMaxLockTable = std::size_t{4} << 20;  // bytes

struct PolledPlace {
  WaitPlace place;
  LockPoll poll;
};

std::vector<PolledPlace> find_polls(const Capture& capture) {
  std::vector<PolledPlace> polls;
  for (std::size_t i = 0; i < capture.processes.size(); ++i) {
    const auto& threads = capture.processes[i].threads;
    for (std::size_t t = 0; t < threads.size(); ++t) {
      if (auto poll = lock_poll_of(threads[t], capture.tables)) {
        polls.push_back({{i, t}, std::move(*poll)});
      }
    }
  }
  return polls;
}

void set_found(const FoundLock& found, const LockPoll& poll, Capture& capture, Wait& wait) {
  wait.on = snapshot::WaitOn::kFileLock;
  wait.inferred = true;
  wait.fd = -1;
  wait.path = capture.tables.string(found.path);
  wait.holder_pid = found.holder;
  wait.holder_alive = found.holder != 0 ? snapshot::Known::kYes : snapshot::Known::kUnknown;
  wait.how = found.existence ? snapshot::WaitHow::kLockFile : snapshot::WaitHow::kDescribed;
  wait.limited = false;  // it limited a single sleep
  wait.limit_ms = -1;
  const std::string_view what = found.existence ? "polls the lock file"
                                : poll.database ? "polls for the lock of a database"
                                                : "polls for a file lock";
  const bool named = !found.path.empty();
  const std::string joint = !named ? "" : found.existence ? " " : poll.database ? ", " : " on ";
  wait.detail = capture.tables.string(std::string(what) + joint + found.path);
}

// "HOLDER EXISTENCE PATH": the path goes to the end of the line.
std::optional<FoundLock> parse_found(std::string_view line) {
  const auto holder = parse_number<pid_t>(take_piece(line, ' '));
  const std::string_view existence = take_piece(line, ' ');
  return holder ? std::optional(FoundLock{*holder, std::string(line), existence == "1"})
                : std::nullopt;
}

// Makes paths of lock files that were read from frames absolute (python/lock_files.h).
void complete_paths(Capture& capture) {
  for (ProcessCapture& process : capture.processes) {
    for (snapshot::ThreadCapture& thread : process.threads) {
      Wait& wait = thread.wait;
      const std::string_view path = capture.tables.text(wait.path);
      if (wait.how != snapshot::WaitHow::kLockFile || path.starts_with('/')) {
        continue;
      }
      if (const std::string whole = absolute_path(process.pid, path); !whole.empty()) {
        wait.path = capture.tables.string(whole);
      }
    }
  }
}

}  // namespace

HeldLocksReader::HeldLocksReader()
    : task_({[](int fd) {
               send_bytes(fd, read_file("/proc/locks", kMaxLockTable).value_or(std::string()));
             },
             std::chrono::milliseconds{1000}}) {}

std::vector<HeldLock> HeldLocksReader::finish() {
  return held_locks(task_.finish().bytes);
}

void name_polled_locks(const std::vector<HeldLock>& before,
                       Capture& capture,
                       std::chrono::milliseconds patience) {
  complete_paths(capture);
  const std::vector<PolledPlace> polls = find_polls(capture);
  if (polls.empty()) {
    return;
  }
  std::vector<HeldLock> held = HeldLocksReader().finish();
  const std::set<HeldLock> earlier(before.begin(), before.end());
  std::erase_if(held, [&earlier](const HeldLock& lock) { return !earlier.contains(lock); });
  LockSearch locks(capture, std::move(held));
  const auto answers = answers_in_child(polls.size(), patience, [&](std::size_t i) {
    const auto found = locks.find(capture.processes[polls[i].place.process], polls[i].poll);
    return found && found->path.find('\n') == std::string::npos
               ? std::to_string(found->holder) + (found->existence ? " 1 " : " 0 ") + found->path
               : std::string();
  });
  for (std::size_t i = 0; i < polls.size(); ++i) {
    if (const auto found = parse_found(answers[i])) {
      const PolledPlace& each = polls[i];
      set_found(*found, each.poll, capture,
                capture.processes[each.place.process].threads[each.place.thread].wait);
    }
  }
}

}  // namespace oddrank::waits
