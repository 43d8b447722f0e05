// Reads a consistent picture without stopping any thread: each thread's state is read first (with
// its counts of context switches), then all Python frames, then the native stack, then the state
// again. A thread whose counts, pc and sp are unchanged has not run in between, so all that was
// read from it belongs together. The others are read again.
//
// The remaining threads run, or keep moving, or have a stack that needs registers that only a stop
// can provide. They are stopped once, all together: while they are stopped, their stacks are copied
// and the Python frames are read; then they continue, and the copies are unwound. A thread that
// blocked before it could be stopped is read like the others. A thread that a stop would harm is
// not stopped; on request no thread is. What is left are the Python frames of
// threads that run. They are read until they are found to have been the stack of one moment, or are
// marked as torn.
#include "stacks/reading.h"

#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include "base/machine.h"
#include "unwind/stack_copy.h"

namespace oddrank::stacks {

namespace {

using attach::StopAttempt;
using attach::StopEnd;
using attach::ThreadState;
using cpython::PythonProcess;
using cpython::PythonThread;

constexpr int kMaxRounds = 3;
constexpr int kMaxPythonReads = 16;  // of threads that run: a fraction of a millisecond each
constexpr int kMaxLooks = 64;        // at the same frames: some microseconds each
// A thread that gets a CPU stops in well under a millisecond. The other threads are held meanwhile.
constexpr std::chrono::milliseconds kStopPatience{100};

bool stood_still(const ThreadState& before, const ThreadState& after) {
  if (!before.registers || !after.registers) {
    // If registers may not be read, only the counts decide.
    return before.registers.has_value() == after.registers.has_value() && before.state != 'R' &&
           before.voluntary_switches == after.voluntary_switches &&
           before.involuntary_switches == after.involuntary_switches;
  }
  return before.voluntary_switches == after.voluntary_switches &&
         before.involuntary_switches == after.involuntary_switches &&
         before.registers->pc == after.registers->pc && before.registers->sp == after.registers->sp;
}

bool to_be_read(const Reading& reading) {
  return reading.moved && !reading.gone;
}

// Notes the outcome of the attempt, apart from the data read.
void note_attempt(const StopAttempt& attempt, Reading& reading) {
  switch (attempt.end) {
    case StopEnd::kHeld:
      reading.state = attempt.thread;
      reading.moved = false;
      reading.held = true;
      break;
    case StopEnd::kSpared:
      reading.moved = true;
      break;
    case StopEnd::kGone:
      reading.gone = true;
      break;
    default:
      reading.state.tracer = attempt.thread.tracer;
      reading.unstopped = attempt.why;
      break;
  }
}

}  // namespace

bool is_dead(const ThreadState& state) {
  return state.state == 'Z' || state.state == 'X';
}

ProcessReader::ProcessReader(const attach::Target& target, const CollectOptions& options)
    : target_(target), options_(options), modules_(target), unwinder_(target, modules_) {
  if (options_.keeps_words == nullptr) {
    return;
  }
  std::vector<elf::ElfRange> code;
  for (const elf::Module& module : modules_.modules()) {
    if (options_.keeps_words(module.path)) {
      code.push_back({module.start, module.end - module.start});
    }
  }
  unwinder_.keep_words(std::move(code));
}

void ProcessReader::find_python() {
  auto found = PythonProcess::find(target_, modules_);
  if (found) {
    python_ = std::move(*found);
  } else if (found.error().code != Errc::kNotFound) {
    python_trouble_ = "no Python frames: " + found.error().what;
  }
}

void ProcessReader::read_python(std::vector<Reading>& readings, const Which& which) {
  if (!python_) {
    return;
  }
  std::vector<pid_t> live;
  live.reserve(readings.size());
  for (const Reading& reading : readings) {
    live.push_back(reading.state.target_tid);
  }
  auto threads = python_->threads(options_.locals, options_.contents, live);
  if (!threads) {
    python_trouble_ = "no Python frames: " + threads.error().what;
    return;
  }
  python_trouble_.clear();
  std::unordered_map<pid_t, PythonThread*> by_tid;
  left_behind_.clear();
  for (PythonThread& thread : *threads) {
    if (std::find(live.begin(), live.end(), thread.target_tid) != live.end()) {
      by_tid.emplace(thread.target_tid, &thread);
    } else if (!thread.frames.empty()) {
      left_behind_.push_back(std::move(thread));
    }
  }
  for (Reading& reading : readings) {
    if (!which(reading)) {
      continue;
    }
    const auto found = by_tid.find(reading.state.target_tid);
    if (found != by_tid.end()) {
      reading.python = std::move(*found->second);
      by_tid.erase(found);
    } else {
      reading.python.reset();
    }
  }
}

std::optional<cpython::PythonSample> ProcessReader::release_sample() {
  return python_ ? python_->release_sample() : std::nullopt;
}

void ProcessReader::look_again(Reading& reading) {
  const auto after = target_.motion(reading.state.tid);
  reading.gone = !after;
  reading.moved = after && !stood_still(reading.state, *after);
  reading.spare =
      reading.spare || must_be_spared(reading.state) || (after && must_be_spared(*after));
}

void ProcessReader::read_round(std::vector<Reading>& readings, bool first) {
  for (Reading& reading : readings) {
    if (first || !to_be_read(reading)) {
      continue;
    }
    if (auto state = target_.thread(reading.state.tid)) {
      reading.state = std::move(*state);
    } else {
      reading.gone = true;
    }
  }
  read_python(readings, to_be_read);
  std::vector<Reading*> wanted;
  std::vector<const ThreadState*> states;
  for (Reading& reading : readings) {
    if (to_be_read(reading)) {
      wanted.push_back(&reading);
      states.push_back(&reading.state);
    }
  }
  if (options_.native) {
    auto stacks = unwinder_.unwind_all(states, options_.frame_limit);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      wanted[i]->native = std::move(stacks[i]);
    }
  }
  for (Reading* reading : wanted) {
    look_again(*reading);
  }
}

bool ProcessReader::wants_stop(const Reading& reading) const {
  if (!options_.stop || !options_.native || reading.gone || reading.spare ||
      !may_be_stopped(reading.state)) {
    return false;
  }
  const bool runs = reading.state.state == 'R' && reading.native.frames.empty();
  return runs || reading.moved || reading.native.needs_registers;
}

bool ProcessReader::read_stopped(std::vector<Reading>& readings) {
  std::vector<ThreadState> wanted;
  std::vector<Reading*> of;
  for (Reading& reading : readings) {
    if (wants_stop(reading)) {
      wanted.push_back(reading.state);
      of.push_back(&reading);
    }
  }
  if (wanted.empty()) {
    return false;
  }
  if (options_.before_stop) {
    options_.before_stop(wanted);
  }
  std::vector<Reading*> held;
  std::vector<unwind::StackCopy> copies;
  unwind::StackCopier copier(wanted.size());
  const auto look = [&](std::span<const StopAttempt> attempts) {
    std::vector<const ThreadState*> states;
    for (std::size_t i = 0; i < attempts.size(); ++i) {
      if (attempts[i].end == StopEnd::kHeld) {
        states.push_back(&attempts[i].thread);
        held.push_back(of[i]);
      }
    }
    copies = copier.copy(target_, states);
    const auto is_held = [&held](const Reading& reading) {
      return std::find(held.begin(), held.end(), &reading) != held.end();
    };
    read_python(readings, is_held);
  };
  const auto stop = target_.while_stopped(wanted, kStopPatience, look);
  if (!stop) {
    return false;
  }
  stopped_ += stop->held;
  stop_took_ = std::max(stop_took_, stop->held == 0 ? stop_took_ : stop->took);
  bool spared = false;
  for (std::size_t i = 0; i < stop->threads.size() && i < of.size(); ++i) {
    note_attempt(stop->threads[i], *of[i]);
    spared = spared || stop->threads[i].end == StopEnd::kSpared;
  }
  for (std::size_t i = 0; i < held.size() && i < copies.size(); ++i) {
    held[i]->native = unwinder_.unwind(held[i]->state, copies[i], options_.frame_limit);
  }
  return spared;
}

void ProcessReader::settle_python(std::vector<Reading>& readings) {
  std::vector<Reading*> torn;
  for (Reading& reading : readings) {
    if (to_be_read(reading) && reading.python && reading.native.frames.empty()) {
      torn.push_back(&reading);
    }
  }
  for (int reads = 0; reads < kMaxPythonReads && !torn.empty(); ++reads) {
    std::vector<std::optional<PythonThread>> before;
    before.reserve(torn.size());
    for (Reading* reading : torn) {
      before.push_back(std::exchange(reading->python, std::nullopt));
    }
    read_python(readings, [&torn](const Reading& reading) {
      return std::find(torn.begin(), torn.end(), &reading) != torn.end();
    });
    std::vector<Reading*> left;
    for (std::size_t i = 0; i < torn.size(); ++i) {
      if (is_of_one_moment(*torn[i])) {
        continue;
      }
      left.push_back(torn[i]);
      if (!torn[i]->python) {  // could not be read again
        torn[i]->python = std::move(before[i]);
      }
    }
    torn = std::move(left);
  }
  for (Reading* reading : torn) {
    reading->torn = true;
  }
}

bool ProcessReader::is_of_one_moment(const Reading& reading) const {
  if (!reading.python || !reading.python->whole) {
    return false;
  }
  for (int looks = 0; looks < kMaxLooks; ++looks) {
    if (python_->stands(reading.state.target_tid)) {
      return true;
    }
  }
  return false;
}

void ProcessReader::check_left_behind() {
  if (left_behind_.empty()) {
    return;
  }
  std::vector<PythonThread> before = std::exchange(left_behind_, {});
  std::vector<Reading> none;
  if (auto states = target_.threads()) {
    for (ThreadState& state : *states) {
      none.emplace_back().state = std::move(state);
    }
  }
  read_python(none, [](const Reading&) { return false; });
  std::erase_if(left_behind_, [&before](const PythonThread& thread) {
    return std::none_of(before.begin(), before.end(), [&thread](const PythonThread& other) {
      return other.target_tid == thread.target_tid && other.pthread == thread.pthread;
    });
  });
}

Result<std::vector<Reading>> ProcessReader::read() {
  ODDRANK_TRY(auto states, target_.threads());
  if (states.empty()) {
    return fail(Errc::kGone, "pid " + std::to_string(target_.pid()) + " has no threads any more");
  }
  if (options_.python) {
    find_python();
  }
  std::vector<Reading> readings;
  readings.reserve(states.size());
  for (ThreadState& state : states) {
    Reading reading;
    reading.state = std::move(state);
    readings.push_back(std::move(reading));
  }
  for (int round = 0; round < kMaxRounds; ++round) {
    if (!std::any_of(readings.begin(), readings.end(), to_be_read)) {
      break;
    }
    read_round(readings, round == 0);
  }
  if (read_stopped(readings)) {
    read_round(readings, false);
  }
  settle_python(readings);
  check_left_behind();
  return readings;
}

namespace {

// Only calls known to be harmless: a read() or an ioctl() may be handled by a driver, which may not
// restart it.
constexpr std::array<std::int64_t, 13> kBegunAgain = {
    SYS_clock_nanosleep, SYS_futex,    SYS_nanosleep,       kSysPause,         kSysPoll,
    SYS_ppoll,           SYS_pselect6, SYS_restart_syscall, SYS_rt_sigsuspend, SYS_sched_yield,
    kSysSelect,          SYS_wait4,    SYS_waitid};

bool is_begun_again(const attach::SyscallState& call) {
  return std::find(kBegunAgain.begin(), kBegunAgain.end(), call.number) != kBegunAgain.end();
}

}  // namespace

bool may_be_stopped(const attach::ThreadState& thread) {
  switch (thread.state) {
    case 'T':
      return true;  // its call, if any, is already due to be restarted
    case 'R':
    case 'S':
      return !thread.syscall || is_begun_again(*thread.syscall);
    default:
      return false;
  }
}

bool must_be_spared(const attach::ThreadState& thread) {
  return thread.state != 'T' && thread.syscall && thread.syscall->number >= 0 &&
         !is_begun_again(*thread.syscall);
}

}  // namespace oddrank::stacks
