// The order of the steps matters:
// - The last look at a thread comes right before its request. The time between the two, some
//   microseconds, is the only time in which a thread can enter a call that the stop will end early.
// - A tracer cannot detach from a thread that it seized but did not stop, and that thread would
//   hang at its next signal. Only the tracer's exit releases it. So the tracer is a thread that
//   exits soon.
// - Stops are waited for by tid, and never with a call that blocks: a thread in state D does not
//   stop, and must not hold up the others.
// - A stop is only looked at (WNOWAIT). To take its report takes the signal on which the thread
//   stopped out of the kernel's hands (wait_task_stopped() of Linux): if we died before we had let
//   the thread go, the signal would be lost.
#include "attach/thread_stop.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <optional>
#include <string>

#include "attach/proc_path.h"
#include "attach/proc_stat.h"
#include "attach/proc_status.h"
#include "attach/proc_task.h"
#include "attach/user_registers.h"
#include "base/deadline.h"
#include "base/log.h"

namespace oddrank::attach {

namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// A thread that runs stops within its turn on a CPU: 0.1 to 1 ms on a busy machine.
constexpr long kNapNs = 50'000;
// Files that are opened before the first request, so that the last looks take less time.
// Programs may open 1024 by default.
constexpr std::size_t kOpenAhead = 256;
// After this time, threads that have not stopped are checked for state D.
constexpr milliseconds kNormalStop{2};

using Look = std::function<void(std::span<const StopAttempt>)>;

// Calls ptrace(2) with the types that it requires.
long ptrace_thread(__ptrace_request request, pid_t tid, void* data) {
  return ::ptrace(request, tid, nullptr, data);
}

// Reads four bytes of the code of a thread that we trace and that has stopped.
std::optional<std::uint32_t> code_at(pid_t tid, std::uint64_t address) {
  errno = 0;
  const long word = ::ptrace(PTRACE_PEEKTEXT, tid, address, nullptr);
  return errno == 0 ? std::optional(static_cast<std::uint32_t>(word)) : std::nullopt;
}

void set_registers(StoppedRegisters stopped, ThreadState& thread) {
  const pid_t tid = thread.tid;
  auto call = settle_call(
      stopped, [tid](std::uint64_t address) { return code_at(tid, address); }, false);
  if (call && call->number == SYS_restart_syscall && thread.syscall) {
    call->number = thread.syscall->number;  // the call in which it was seen before the stop
  }
  thread.registers = stopped.registers;
  thread.syscall = call;
}

// Looks whether a thread that we trace has stopped or ended; returns nullopt if there is nothing to
// see yet. An error counts as an end.
std::optional<siginfo_t> look_at(pid_t tid) {
  siginfo_t seen{};
  const int done = ::waitid(P_PID, static_cast<id_t>(tid), &seen,
                            WSTOPPED | WEXITED | WNOWAIT | WNOHANG | __WALL);
  if (done != 0 && errno != EINTR) {
    seen.si_code = CLD_KILLED;
    return seen;
  }
  return done != 0 || seen.si_pid == 0 ? std::nullopt : std::optional(seen);
}

// Takes the report of a thread's end, after which its parent is notified. Leaves stops alone.
void take_end(pid_t tid) {
  siginfo_t seen{};
  static_cast<void>(::waitid(P_PID, static_cast<id_t>(tid), &seen, WEXITED | WNOHANG | __WALL));
}

// Threads that we trace. Its destructor detaches all that can be detached.
class Tracees {
 public:
  Tracees(pid_t pid, std::span<const ThreadState> threads);
  ~Tracees() { let_go(); }
  Tracees(const Tracees&) = delete;
  Tracees& operator=(const Tracees&) = delete;
  Tracees(Tracees&&) = delete;
  Tracees& operator=(Tracees&&) = delete;

  void request_all();
  void wait_all(const Deadline& deadline);
  void let_go();
  // A thread must not stay stopped because of us; logs it if one does.
  void check_after() const;

  const std::vector<StopAttempt>& attempts() const { return attempts_; }

 private:
  enum class Phase { kNotOurs, kWaiting, kStopped };
  struct Tracee {
    Phase phase = Phase::kNotOurs;
    StateCheck state_check;
    char before = '?';
    int signal = 0;  // met by the stop, to be delivered when the thread is released
  };

  void request(StopAttempt& attempt, Tracee& tracee) const;
  void refuse(StopAttempt& attempt, int error_number) const;
  // Returns true if the thread has stopped or exited.
  bool poll(StopAttempt& attempt, Tracee& tracee) const;
  bool poll_all();
  bool any_waiting() const;
  void give_up_on_blocked();

  pid_t pid_;
  std::vector<StopAttempt> attempts_;
  std::vector<Tracee> tracees_;  // of each attempt
};

Tracees::Tracees(pid_t pid, std::span<const ThreadState> threads)
    : pid_(pid), tracees_(threads.size()) {
  attempts_.reserve(threads.size());
  for (std::size_t i = 0; i < threads.size(); ++i) {
    attempts_.push_back({threads[i], StopEnd::kRefused, {}});
    if (i < kOpenAhead) {
      tracees_[i].state_check.prepare(pid, threads[i].tid);
    }
  }
}

void Tracees::refuse(StopAttempt& attempt, int error_number) const {
  const char letter = state_letter(pid_, attempt.thread.tid);
  if (error_number == ESRCH || letter == 'Z' || letter == 'X') {
    attempt.end = StopEnd::kGone;
    attempt.why = "it ended";
    return;
  }
  const auto status = read_proc_status(attempt.thread.tid);
  if (error_number == EPERM && status && status->tracer != 0) {
    attempt.end = StopEnd::kTraced;
    attempt.thread.tracer = status->tracer;
    const auto tracer = read_proc_stat(status->tracer);
    attempt.why = "it is traced by " + (tracer ? tracer->name + " (pid " : std::string("pid ")) +
                  std::to_string(status->tracer) + (tracer ? ")" : "");
    return;
  }
  attempt.end = StopEnd::kRefused;
  attempt.why = "ptrace: " + errno_text(error_number);
}

void Tracees::request(StopAttempt& attempt, Tracee& tracee) const {
  tracee.before = attempt.thread.state;
  attempt.end = tracee.state_check.take(pid_, attempt.thread, attempt.why);
  if (attempt.end != StopEnd::kHeld) {
    return;
  }
  const pid_t tid = attempt.thread.tid;
  if (ptrace_thread(PTRACE_SEIZE, tid, nullptr) != 0) {
    refuse(attempt, errno);
    return;
  }
  tracee.phase = Phase::kWaiting;
  attempt.end = StopEnd::kLate;
  // Fails only for a dying thread; the look at it will show that.
  static_cast<void>(ptrace_thread(PTRACE_INTERRUPT, tid, nullptr));
}

void Tracees::request_all() {
  for (std::size_t i = 0; i < attempts_.size(); ++i) {
    request(attempts_[i], tracees_[i]);
  }
}

bool Tracees::poll(StopAttempt& attempt, Tracee& tracee) const {
  const pid_t tid = attempt.thread.tid;
  const auto seen = look_at(tid);
  if (!seen) {
    return false;
  }
  tracee.phase = Phase::kNotOurs;
  attempt.end = StopEnd::kGone;
  if (seen->si_code != CLD_TRAPPED && seen->si_code != CLD_STOPPED) {
    take_end(tid);
    return true;
  }
  tracee.phase = Phase::kStopped;
  // A stop without an event is a signal on its way to the thread. Our own stops have an event, and
  // so has the stop of a process that SIGSTOP had already stopped.
  constexpr int kSignalBits = 8;
  tracee.signal = seen->si_status >> kSignalBits == 0 ? seen->si_status : 0;
  if (const auto stopped = read_registers(tid)) {
    set_registers(*stopped, attempt.thread);
    attempt.end = StopEnd::kHeld;
  }
  return true;
}

bool Tracees::poll_all() {
  bool progress = false;
  for (std::size_t i = 0; i < attempts_.size(); ++i) {
    if (tracees_[i].phase == Phase::kWaiting) {
      progress = poll(attempts_[i], tracees_[i]) || progress;
    }
  }
  return progress;
}

bool Tracees::any_waiting() const {
  return std::any_of(tracees_.begin(), tracees_.end(),
                     [](const Tracee& tracee) { return tracee.phase == Phase::kWaiting; });
}

void Tracees::give_up_on_blocked() {
  for (std::size_t i = 0; i < attempts_.size(); ++i) {
    if (tracees_[i].phase == Phase::kWaiting &&
        state_letter(pid_, attempts_[i].thread.tid) == 'D') {
      attempts_[i].why = "it went into state D";
    }
  }
}

void Tracees::wait_all(const Deadline& deadline) {
  const Deadline normal = deadline.at_most(kNormalStop);
  const auto worth_waiting = [this] {
    for (std::size_t i = 0; i < attempts_.size(); ++i) {
      if (tracees_[i].phase == Phase::kWaiting && attempts_[i].why.empty()) {
        return true;
      }
    }
    return false;
  };
  while (worth_waiting() && !deadline.passed()) {
    if (poll_all()) {
      continue;
    }
    const timespec nap{0, kNapNs};
    ::clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, nullptr);
    if (normal.passed()) {
      give_up_on_blocked();
    }
  }
  for (std::size_t i = 0; i < attempts_.size(); ++i) {
    if (tracees_[i].phase == Phase::kWaiting && attempts_[i].why.empty()) {
      attempts_[i].why = "it did not stop in time";
    }
  }
}

void Tracees::let_go() {
  static_cast<void>(any_waiting() && poll_all());  // those that came late
  for (std::size_t i = 0; i < attempts_.size(); ++i) {
    if (tracees_[i].phase != Phase::kStopped) {
      continue;
    }
    tracees_[i].phase = Phase::kNotOurs;
    const pid_t tid = attempts_[i].thread.tid;
    const auto signal = static_cast<std::uintptr_t>(tracees_[i].signal);
    if (ptrace_thread(PTRACE_DETACH, tid, reinterpret_cast<void*>(signal)) != 0) {  // NOLINT
      take_end(tid);  // it was killed while we held it
    }
  }
}

void Tracees::check_after() const {
  for (std::size_t i = 0; i < attempts_.size(); ++i) {
    if (attempts_[i].end != StopEnd::kHeld || tracees_[i].before == 'T') {
      continue;
    }
    const pid_t tid = attempts_[i].thread.tid;
    if (const char letter = state_letter(pid_, tid); letter == 'T') {
      log_line(LogLevel::kWarning, "thread " + std::to_string(tid) + " of pid " +
                                       std::to_string(pid_) +
                                       " has been in state T since it was read");
    }
  }
}

struct Job {
  pid_t pid;
  std::span<const ThreadState> threads;
  milliseconds patience;
  const Look& look;
  Stop stop;
};

void run_stop(Job& job) {
  Tracees tracees(job.pid, job.threads);
  const auto start = Deadline::Clock::now();
  tracees.request_all();
  tracees.wait_all(Deadline::after(job.patience));
  const auto& attempts = tracees.attempts();
  job.stop.held = static_cast<std::size_t>(std::count_if(
      attempts.begin(), attempts.end(), [](const auto& one) { return one.end == StopEnd::kHeld; }));
  if (job.stop.held != 0) {
    job.look(attempts);
  }
  tracees.let_go();
  job.stop.took = std::chrono::duration_cast<microseconds>(Deadline::Clock::now() - start);
  tracees.check_after();
  job.stop.threads = attempts;
}

void* thread_main(void* argument) {
  run_stop(*static_cast<Job*>(argument));
  return nullptr;
}

}  // namespace

Result<Stop> stop_threads(pid_t pid,
                          std::span<const ThreadState> threads,
                          milliseconds patience,
                          const Look& look) {
  Job job{pid, threads, patience, look, {}};
  pthread_t tracer{};
  const int error = ::pthread_create(&tracer, nullptr, thread_main, &job);
  if (error != 0) {
    return fail(Errc::kUnsupported, "cannot stop threads of pid " + std::to_string(pid) +
                                        ": no thread to do it: " + errno_text(error));
  }
  ::pthread_join(tracer, nullptr);
  return std::move(job.stop);
}

namespace {

StopEnd failed(int error_number, std::string& why) {
  if (error_number == EPERM || error_number == EACCES || error_number == EMFILE) {
    why = "its state cannot be read: " + errno_text(error_number);
    return StopEnd::kRefused;
  }
  why = "it ended";
  return StopEnd::kGone;
}

}  // namespace

char state_letter(pid_t pid, pid_t tid) {
  const auto stat = read_thread_stat(pid, tid);
  return stat ? stat->state : 'X';
}

void StateCheck::prepare(pid_t pid, pid_t tid) {
  file_ = UniqueFd(::open(task_path(pid, tid, "syscall").c_str(), O_RDONLY | O_CLOEXEC));
}

StopEnd StateCheck::take(pid_t pid, ThreadState& seen, std::string& why) {
  if (!file_.valid()) {
    prepare(pid, seen.tid);
  }
  if (!file_.valid()) {
    return failed(errno, why);
  }
  std::array<char, 512> text{};
  const ssize_t got = ::pread(file_.get(), text.data(), text.size(), 0);
  if (got <= 0) {
    return failed(got < 0 ? errno : ESRCH, why);
  }
  const auto now = parse_proc_syscall({text.data(), static_cast<std::size_t>(got)});
  if (now && !now->syscall) {
    seen.state = 'R';
    return StopEnd::kHeld;
  }
  if (!now || !seen.syscall) {
    return StopEnd::kSpared;
  }
  // `seen` has the call's own number (restarted_call.h). Every call that is shown as
  // restart_syscall is one that the kernel begins again after a stop.
  const std::int64_t number = now->syscall->number;
  if (number != seen.syscall->number && number != SYS_restart_syscall) {
    return StopEnd::kSpared;
  }
  // A thread in the same call sleeps as before, or in state D: then the stop comes late and does no
  // harm. A thread stopped by SIGSTOP may have been woken in its call.
  const bool as_seen =
      seen.state == 'S' || (seen.state == 'T' && state_letter(pid, seen.tid) == 'T');
  return as_seen ? StopEnd::kHeld : StopEnd::kSpared;
}

}  // namespace oddrank::attach
