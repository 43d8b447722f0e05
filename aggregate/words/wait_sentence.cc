#include "aggregate/words/wait_sentence.h"

#include <algorithm>
#include <array>
#include <chrono>

#include <fmt/format.h>

#include "aggregate/words/word_of.h"
#include "base/base_name.h"
#include "base/span_words.h"
#include "snapshot/freezer.h"

namespace oddrank::aggregate {

using snapshot::AwaitedFile;
using snapshot::Frame;
using snapshot::InnerLock;
using snapshot::LockFacts;
using snapshot::LockKind;
using snapshot::LockMode;
using snapshot::LockOwner;
using snapshot::ProcessCapture;
using snapshot::Tables;
using snapshot::ThreadCapture;
using snapshot::Wait;
using snapshot::WaitAbout;
using snapshot::WaitHow;

namespace {

constexpr std::int64_t kSecond = 1000;  // milliseconds
constexpr std::size_t kMaxText = 16384;

// In the order of LockKind.
constexpr auto kLockWords = std::to_array<std::string_view>({
    "semaphore, condition or join",
    "mutex",
    "robust mutex",
    "priority-inheriting mutex",
    "read-write lock",
    "read-write lock",
    "lock of a stdio stream",
    "end of a thread",
    "semaphore shared by processes",
    "a condition variable, which has no owner",
    "a semaphore, which has no owner",
    "a barrier, which has no owner",
    "the end of a first call (pthread_once, or a static variable)",
});
static_assert(static_cast<std::size_t>(LockKind::kOnce) + 1 == kLockWords.size());

// In the order of InnerLock.
constexpr auto kInnerWords = std::to_array<std::string_view>(
    {"", "the allocator's lock", "the dynamic loader's lock", "a stdio stream's lock",
     "the lock of the exit handlers", "the lock of the environment", "the lock of the time zone"});
static_assert(static_cast<std::size_t>(InnerLock::kTimeZone) + 1 == kInnerWords.size());

// In the order of Store.
constexpr auto kStoreWords =
    std::to_array<std::string_view>({"", " (the store of MASTER_PORT)", " (a store)"});

std::string state_words(std::uint8_t state) {
  constexpr std::array<std::string_view, 12> kNames = {
      "",          "ESTABLISHED", "SYN_SENT",   "SYN_RECV", "FIN_WAIT1", "FIN_WAIT2",
      "TIME_WAIT", "CLOSE",       "CLOSE_WAIT", "LAST_ACK", "LISTEN",    "CLOSING"};
  return state > 0 && state < kNames.size() ? std::string(kNames[state])
                                            : fmt::format("state {}", state);
}

void add(std::string& text, std::string_view more) {
  if (!more.empty()) {
    text += text.empty() ? "" : "; ";
    text += more;
  }
}

// The innermost Python frame of the process's own: frames outside of the start of a multiprocessing
// process are its parent's.
const Frame* innermost_python(const Tables& tables, const ThreadCapture& thread) {
  if (thread.samples.empty()) {
    return nullptr;
  }
  const snapshot::ThreadSample& last = thread.samples.back();
  const bool apart = tables.stack(last.stack).merge == snapshot::MergeState::kMismatch;
  for (const auto id : tables.stack(apart ? last.python_stack : last.stack).frames) {
    if (tables.frame(id).kind == snapshot::FrameKind::kPython) {
      return &tables.frame(id);
    }
  }
  return nullptr;
}

// One thread's wait; borrows all for one sentence. Texts of a capture may have any length; reports
// cut whole sentences at less than this.
class Sentence {
 public:
  Sentence(const Tables& tables,
           const FindProcess& find,
           const ProcessCapture& process,
           const ThreadCapture& thread)
      : tables_(tables), find_(find), process_(process), thread_(thread), wait_(thread.wait) {}

  // `what`: see wait_sentence().
  std::string whole(std::string_view what) const;

 private:
  // Returns it without what other processes do: those may wait for this one.
  std::string own(std::string_view what) const;
  std::string doing() const;
  // Python asks for its GIL every few milliseconds; the limits of its other waits are the caller's
  // affair.
  bool says_limit() const;
  std::string limit_words() const;
  std::string lock_words() const;
  std::string gil_words() const;
  std::string holding_thread() const;
  std::string lock_notes() const;
  std::string link_words(const AwaitedFile& file) const;
  std::string files_words() const;
  std::string frozen_words() const;
  // Says which process has the other end.
  std::string file_words(const AwaitedFile& file) const;
  std::string connection_words(const AwaitedFile& file) const;
  std::string holder_words() const;
  std::string pool_words() const;
  // What another process does: its main thread's wait and innermost Python frame. "in read() of
  // /data/7.tar; at __getitem__ (data.py:31)".
  std::string describe(const ProcessCapture& other) const;
  std::string frame_words(const Frame& frame) const;

  std::string_view text_of(snapshot::StringId id) const {
    return tables_.text(id).substr(0, kMaxText);
  }

  const Tables& tables_;
  const FindProcess& find_;
  const ProcessCapture& process_;
  const ThreadCapture& thread_;
  const Wait& wait_;
};

std::string Sentence::whole(std::string_view what) const {
  std::string text;
  if (wait_.rare->about == WaitAbout::kPool && what.empty()) {
    text = pool_words();
    add(text, text_of(wait_.rare->notes));
  } else {
    text = own(what);
    add(text, holder_words());
  }
  add(text, text_of(wait_.rare->motion));
  return text;
}

std::string Sentence::own(std::string_view what) const {
  std::string text = what.empty() ? doing() : std::string(what);
  if (says_limit() && !text.empty()) {
    text += limit_words();
  }
  if (wait_.lock.mode != LockMode::kUnknown) {
    text += wait_.lock.mode == LockMode::kRead ? ", wants to read" : ", wants to write";
  }
  add(text, lock_notes());
  for (const AwaitedFile& file : wait_.rare->awaited) {
    const std::string words = file_words(file);
    add(text, words.empty() || wait_.rare->awaited_count <= 1
                  ? words
                  : fmt::format("fd {}: {}", file.fd, words));
  }
  add(text, text_of(wait_.rare->notes));
  return text;
}

std::string Sentence::doing() const {
  if (const std::string_view detail = text_of(wait_.detail); !detail.empty()) {
    return std::string(detail);
  }
  switch (wait_.how) {
    case WaitHow::kLock:
      return lock_words();
    case WaitHow::kGil:
      return gil_words();
    case WaitHow::kFuture:
      return "waits for a future";
    case WaitHow::kFutureOfThread:
      return fmt::format("waits for a future that thread {} is at work on", wait_.holder_tid);
    case WaitHow::kFutureOfPool:
      return fmt::format("waits for a future in the queue of the pool of thread {}",
                         wait_.holder_tid);
    case WaitHow::kFutureOfLoop:
      return fmt::format("waits for a coroutine of the event loop that thread {} runs",
                         wait_.holder_tid);
    case WaitHow::kFutureNotBegun:
      return "waits for a future that nobody has begun";
    case WaitHow::kFiles:
      return files_words();
    case WaitHow::kFrozen:
      return frozen_words();
    case WaitHow::kObject:
      return fmt::format("waits at an object that only thread {} has, too", wait_.holder_tid);
    case WaitHow::kDescribed:
    case WaitHow::kPythonLock:
    case WaitHow::kLockFile:
    case WaitHow::kClock:
      break;
  }
  return {};
}

bool Sentence::says_limit() const {
  return is_long_limit(wait_) || wait_.how == WaitHow::kDescribed || wait_.how == WaitHow::kLock ||
         wait_.how == WaitHow::kFiles || wait_.how == WaitHow::kClock;
}

std::string Sentence::limit_words() const {
  if (is_long_limit(wait_) || !wait_.limited) {
    return long_limit_words(wait_);
  }
  return wait_.limit_ms < 0 ? ", with a time limit"
                            : fmt::format(", for {} ms at most", wait_.limit_ms);
}

std::string Sentence::lock_words() const {
  const LockFacts& lock = wait_.lock;
  const std::string_view kind = word_of(kLockWords, lock.kind);
  if (lock.kind == LockKind::kReadLocks) {
    return fmt::format("{} held by {} reader{}, who are not named in it", kind, lock.readers,
                       lock.readers == 1 ? "" : "s");
  }
  switch (lock.owner) {
    case LockOwner::kThread:
      if (lock.kind == LockKind::kThreadEnd) {
        return fmt::format("waits for the end of thread {}", wait_.holder_tid);
      }
      return wait_.holder_tid == thread_.tid
                 ? fmt::format("{} that this thread has locked itself", kind)
                 : fmt::format("{} locked by thread {}", kind, wait_.holder_tid);
    case LockOwner::kDied:
      return fmt::format("{} whose owner, thread {}, has died", kind, lock.owner_tid);
    case LockOwner::kNotHere:
      return fmt::format(
          "{} locked by thread {}, which this process does not have{}", kind, lock.owner_tid,
          lock.owner_pid > 0 ? fmt::format(": it is one of pid {}, so the lock was left behind "
                                           "by a fork",
                                           lock.owner_pid)
                             : " (ended, or left behind by a fork)");
    case LockOwner::kOtherProcess:
      return fmt::format("{} shared by processes, locked by thread {} of pid {}", kind,
                         lock.owner_tid, wait_.holder_pid);
    case LockOwner::kOtherNamespace:
      return fmt::format("{} shared by processes, locked by thread {} of its pid namespace", kind,
                         lock.owner_tid);
    case LockOwner::kWithin:
      if (lock.kind == LockKind::kOnce) {
        return fmt::format("{} that {} has begun", kind,
                           wait_.holder_tid == thread_.tid
                               ? "this thread itself"
                               : fmt::format("thread {}", wait_.holder_tid));
      }
      break;
    case LockOwner::kUnknown:
    case LockOwner::kAcquired:
    case LockOwner::kNobodyAcquired:
    case LockOwner::kNobodyElse:
      break;
  }
  const std::string text = lock.kind == LockKind::kUnknown && lock.inner != InnerLock::kNone
                               ? "lock"
                               : std::string(kind);
  return lock.shared && lock.kind != LockKind::kShared ? text + ", in memory that processes share"
                                                       : text;
}

std::string Sentence::gil_words() const {
  std::string text = thread_.gil == 0
                         ? "waits for Python's GIL"
                         : fmt::format("waits for the GIL of interpreter {}", thread_.gil);
  if (wait_.lock.owner == LockOwner::kThread) {
    text += fmt::format(", held by thread {}", wait_.holder_tid);
  }
  return text;
}

std::string Sentence::holding_thread() const {
  const std::string who = wait_.holder_tid == 0 ? "a thread that has ended"
                          : wait_.holder_tid == thread_.tid
                              ? "this thread itself"
                              : fmt::format("thread {}", wait_.holder_tid);
  return wait_.holder_pid == process_.pid ? who
                                          : fmt::format("{} of pid {}", who, wait_.holder_pid);
}

std::string Sentence::lock_notes() const {
  const LockFacts& lock = wait_.lock;
  std::string text;
  if (lock.inner != InnerLock::kNone) {
    text = fmt::format("in {}(): {}", text_of(lock.function), word_of(kInnerWords, lock.inner));
  }
  if (lock.owner == LockOwner::kWithin && lock.kind != LockKind::kOnce) {
    text += wait_.holder_tid == thread_.tid
                ? ", which this thread itself was in when a signal came"
                : fmt::format(", which only thread {} is in", wait_.holder_tid);
  } else if (lock.owner == LockOwner::kAcquired) {
    add(text, fmt::format("a lock of multiprocessing that {} has acquired and not released",
                          holding_thread()));
  } else if (lock.owner == LockOwner::kNobodyAcquired) {
    add(text, "it tells no owner");
  } else if (lock.owner == LockOwner::kNobodyElse) {
    add(text, "no other process has it any more");
  }
  return text;
}

std::string Sentence::link_words(const AwaitedFile& file) const {
  const std::string_view link = text_of(file.link);
  return link.empty() ? fmt::format("fd {}", file.fd) : std::string(link);
}

std::string Sentence::files_words() const {
  std::string text = fmt::format("in {}()", text_of(wait_.syscall_name));
  if (wait_.rare->awaited.empty()) {
    return text +
           (wait_.rare->awaited_count > 0
                ? fmt::format(" of {} files that could not be read", wait_.rare->awaited_count)
                : " of no file that could be read");
  }
  if (wait_.rare->awaited_count == 1) {
    return text + " of " + link_words(wait_.rare->awaited.front()) +
           (wait_.rare->own_wakers ? " (and its own wakers)" : "");
  }
  text += fmt::format(" of {} files (", wait_.rare->awaited_count);
  for (std::size_t i = 0; i < wait_.rare->awaited.size(); ++i) {
    text += fmt::format("{}{} {}", i == 0 ? "" : ", ", wait_.rare->awaited[i].fd,
                        text_of(wait_.rare->awaited[i].link));
  }
  text += wait_.rare->awaited_count > wait_.rare->awaited.size() ? ", ...)" : ")";
  return text + (wait_.rare->own_wakers ? " and its own wakers" : "");
}

std::string Sentence::frozen_words() const {
  const std::string_view wchan = text_of(wait_.wchan);
  const char state = thread_.samples.empty() ? '?' : thread_.samples.back().state;
  return fmt::format("{} ({})", kFrozenWords,
                     snapshot::sleeps_in_freezer(wchan, state) ? wchan : "freezer.state");
}

std::string Sentence::file_words(const AwaitedFile& file) const {
  std::string text;
  if (file.listens()) {
    const auto address = text_of(file.local);
    text = fmt::format("listens at {}", address.empty() ? "a local socket" : address);
  } else if (file.state != 0) {
    text = connection_words(file);
  }
  add(text, text_of(file.note));
  return text;
}

std::string Sentence::connection_words(const AwaitedFile& file) const {
  std::string text = fmt::format("TCP {} to {}{}, {}", text_of(file.local), text_of(file.peer),
                                 word_of(kStoreWords, file.store), state_words(file.state));
  if (file.unread > 0) {
    text += fmt::format(", {} bytes not read", file.unread);
  }
  if (file.unsent > 0) {
    text += fmt::format(", {} bytes not acknowledged", file.unsent);
  }
  if (file.received_ms >= kSecond) {
    text += received_words(file);
    if (file.sent_ms >= kSecond) {
      text += fmt::format(", nothing sent for {} s", file.sent_ms / kSecond);
    }
  }
  return text + tls_words(file);
}

std::string Sentence::holder_words() const {
  if (wait_.rare->about != WaitAbout::kHolder && wait_.rare->about != WaitAbout::kOnlyChild) {
    return {};
  }
  const ProcessCapture* holder = find_(process_.node, wait_.holder_pid);
  if (holder == nullptr) {
    return {};
  }
  return fmt::format("{}pid {}: {}",
                     wait_.rare->about == WaitAbout::kOnlyChild ? "its only child " : "",
                     holder->pid, describe(*holder));
}

std::string Sentence::pool_words() const {
  const snapshot::PoolWait& pool = wait_.rare->pool;
  const std::string_view name = text_of(pool.name);
  if (pool.meant == 0) {
    return pool.workers == 0
               ? fmt::format("waits for a {}, but none was found", name)
               : fmt::format("waits for a {}, but all {} are idle{}", name, pool.workers,
                             wait_.holder_alive == snapshot::Known::kNo
                                 ? ": the one that had the work has ended, and was replaced"
                                 : "");
  }
  std::string text = pool.meant == 1 ? fmt::format("{} ", name)
                                     : fmt::format("{} {}s could be meant: ", pool.meant, name);
  for (std::size_t i = 0; i < pool.pids.size(); ++i) {
    const ProcessCapture* worker = find_(process_.node, pool.pids[i]);
    text += fmt::format("{}pid {}: {}", i == 0 ? "" : "; ", pool.pids[i],
                        worker == nullptr ? "not read" : describe(*worker));
  }
  return text + (pool.meant > pool.pids.size() ? "; ..." : "");
}

std::string Sentence::describe(const ProcessCapture& other) const {
  if (other.state == 'Z' || other.state == 'X') {
    const std::string how = other.exit_code == 0 ? "" : exit_words(other.exit_code);
    return how.empty() ? "dead, not reaped" : "dead, not reaped, " + how;
  }
  if (other.threads.empty()) {
    return fmt::format("state {}, no stack could be read", other.state);
  }
  const ThreadCapture& main = other.threads.front();
  std::string text = Sentence(tables_, find_, other, main).own({});
  if (text.empty()) {
    text = fmt::format("state {}", other.state);
  }
  if (const Frame* frame = innermost_python(tables_, main)) {
    text += "; at " + frame_words(*frame);
  }
  return text;
}

std::string Sentence::frame_words(const Frame& frame) const {
  return fmt::format("{} ({}:{})", text_of(frame.function), base_name(tables_.text(frame.file)),
                     frame.line);
}

}  // namespace

std::string wait_sentence(std::string_view what,
                          const Tables& tables,
                          const FindProcess& find,
                          const ProcessCapture& process,
                          const ThreadCapture& thread) {
  return Sentence(tables, find, process, thread).whole(what);
}

std::string long_limit_words(const snapshot::Wait& wait) {
  return is_long_limit(wait) ? fmt::format(", for {} more at most",
                                           span_words(std::chrono::milliseconds(wait.limit_ms)))
                             : std::string();
}

std::string exit_words(std::int32_t exit_code) {
  if (exit_code < 0) {
    return {};
  }
  const int signal = exit_code & 0x7f;
  return signal != 0 ? fmt::format("killed by signal {}", signal)
                     : fmt::format("exit code {}", (exit_code >> 8) & 0xff);
}

std::string received_words(const AwaitedFile& file) {
  return file.received_ms < kSecond
             ? std::string()
             : fmt::format(", nothing received for {} s", file.received_ms / kSecond);
}

std::string tls_words(const AwaitedFile& file) {
  return file.tls ? ", over TLS" : "";
}

}  // namespace oddrank::aggregate
