// How a picture of one instant is made without stopping anybody: each thread's state is read first
// (with its counts of context switches), then all Python frames, then the native stack, then the
// state again. A thread whose counts, pc and sp are as before has not run in between, so that all
// that was read of it belongs together. The others are read again, and marked as torn if they keep
// moving.
#include "stacks/collect.h"

#include <sys/syscall.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stacks/convert_frames.h"
#include "stacks/cpython/python_process.h"
#include "stacks/merge.h"
#include "stacks/module_map.h"
#include "stacks/native_unwind.h"

namespace oddrank::stacks {
namespace {

using cpython::PythonProcess;
using cpython::PythonThread;
using snapshot::StackEnd;

constexpr int kRounds = 3;
// Of a process; the main thread's come first.
constexpr std::size_t kMostLocals = 4096;

// What was read of one thread.
struct Reading {
  attach::ThreadState state;
  NativeStack native;
  std::optional<PythonThread> python;
  bool moved = true;  // since the state was read; what was read may be of two instants
  bool gone = false;
};

bool is_dead(const attach::ThreadState& state) {
  return state.state == 'Z' || state.state == 'X';
}

bool stood_still(const attach::ThreadState& before, const attach::ThreadState& after) {
  if (!before.registers || !after.registers) {
    // Where registers may not be read, only the counts speak.
    return before.registers.has_value() == after.registers.has_value() && before.state != 'R' &&
           before.voluntary_switches == after.voluntary_switches &&
           before.involuntary_switches == after.involuntary_switches;
  }
  return before.voluntary_switches == after.voluntary_switches &&
         before.involuntary_switches == after.involuntary_switches &&
         before.registers->pc == after.registers->pc && before.registers->sp == after.registers->sp;
}

class Collector {
 public:
  Collector(const attach::Target& target,
            const CollectOptions& options,
            snapshot::Tables& tables,
            snapshot::ProcessCapture& process)
      : target_(target),
        options_(options),
        tables_(tables),
        process_(process),
        modules_(target),
        unwinder_(target, modules_) {}

  Status run();

 private:
  void find_python();
  void read_python(std::vector<Reading>& readings);
  void read_round(std::vector<Reading>& readings, bool first);
  void add_sample(const Reading& reading, FrameConverter& converter);
  void add_locals(const Reading& reading,
                  const std::vector<std::size_t>& python_index,
                  snapshot::ThreadCapture& thread);
  snapshot::ThreadCapture& row_of(const attach::ThreadState& state);
  StackEnd end_of(const Reading& reading) const;
  bool wants_gil(const attach::ThreadState& state) const;
  void judge(const Reading& main);

  const attach::Target& target_;
  const CollectOptions& options_;
  snapshot::Tables& tables_;
  snapshot::ProcessCapture& process_;
  ModuleMap modules_;
  NativeUnwinder unwinder_;
  std::optional<PythonProcess> python_;
  std::string python_trouble_;  // why there are no Python frames where there should be
  std::size_t locals_ = 0;
};

void Collector::find_python() {
  auto found = PythonProcess::find(target_, modules_);
  if (found) {
    python_ = std::move(*found);
    process_.python_version = tables_.string(python_->version());
  } else if (found.error().code != Errc::kNotFound) {
    python_trouble_ = "no Python frames: " + found.error().what;
  }
}

void Collector::read_python(std::vector<Reading>& readings) {
  if (!python_) {
    return;
  }
  auto threads = python_->threads(options_.locals);
  if (!threads) {
    python_trouble_ = "no Python frames: " + threads.error().what;
    return;
  }
  python_trouble_.clear();
  for (Reading& reading : readings) {
    if (!reading.moved || reading.gone) {
      continue;
    }
    const auto found =
        std::find_if(threads->begin(), threads->end(), [&reading](const PythonThread& thread) {
          return thread.target_tid != 0 && thread.target_tid == reading.state.target_tid;
        });
    if (found != threads->end()) {
      reading.python = std::move(*found);
      found->target_tid = 0;  // taken
    } else {
      reading.python.reset();
    }
  }
}

void Collector::read_round(std::vector<Reading>& readings, bool first) {
  for (Reading& reading : readings) {
    if (first || !reading.moved || reading.gone) {
      continue;
    }
    if (auto state = target_.thread(reading.state.tid)) {
      reading.state = std::move(*state);
    } else {
      reading.gone = true;
    }
  }
  read_python(readings);
  for (Reading& reading : readings) {
    if (!reading.moved || reading.gone) {
      continue;
    }
    if (options_.native) {
      reading.native = unwinder_.unwind(reading.state, options_.frame_limit);
    }
    const auto after = target_.thread(reading.state.tid);
    reading.gone = !after;
    reading.moved = after && !stood_still(reading.state, *after);
  }
}

snapshot::ThreadCapture& Collector::row_of(const attach::ThreadState& state) {
  auto& threads = process_.threads;
  auto row =
      std::find_if(threads.begin(), threads.end(),
                   [&state](const snapshot::ThreadCapture& one) { return one.tid == state.tid; });
  if (row == threads.end()) {
    row = threads.emplace(threads.end());
    row->tid = state.tid;
  }
  row->name = tables_.string(state.name);
  return *row;
}

StackEnd Collector::end_of(const Reading& reading) const {
  if (reading.gone || is_dead(reading.state)) {
    return StackEnd::kGone;
  }
  if (reading.state.state == 'R' && reading.native.frames.empty()) {
    return StackEnd::kRunning;
  }
  return reading.moved ? StackEnd::kTorn : reading.native.end;
}

bool Collector::wants_gil(const attach::ThreadState& state) const {
  if (!python_ || !state.syscall || state.syscall->number != SYS_futex) {
    return false;
  }
  const ElfRange words = python_->gil_words();
  return state.syscall->arguments[0] - words.address < words.size;
}

void Collector::add_locals(const Reading& reading,
                           const std::vector<std::size_t>& python_index,
                           snapshot::ThreadCapture& thread) {
  const auto& frames = reading.python->frames;
  for (std::size_t i = 0; i < frames.size() && i < python_index.size(); ++i) {
    if (frames[i].locals.empty() || locals_ >= kMostLocals) {
      continue;
    }
    snapshot::FrameLocals of_frame;
    of_frame.frame = static_cast<std::uint32_t>(python_index[i]);
    for (const cpython::PythonLocal& local : frames[i].locals) {
      of_frame.locals.push_back({tables_.string(local.name), tables_.string(local.value)});
    }
    locals_ += of_frame.locals.size();
    thread.locals.push_back(std::move(of_frame));
  }
}

void Collector::add_sample(const Reading& reading, FrameConverter& converter) {
  snapshot::ThreadCapture& thread = row_of(reading.state);
  thread.has_python = reading.python.has_value();
  thread.holds_gil = reading.python && reading.python->holds_gil;
  thread.wants_gil = wants_gil(reading.state);
  if (reading.python && !reading.python->name.empty()) {
    thread.python_name = tables_.string(reading.python->name);
  }
  const StackEnd end = end_of(reading);
  auto merged =
      merge(converter.native(reading.native),
            reading.python ? converter.python(*reading.python) : std::vector<snapshot::Frame>(),
            reading.native.end == StackEnd::kComplete && !reading.moved);
  const auto intern = [&](const std::vector<snapshot::Frame>& frames) {
    if (frames.empty()) {
      return snapshot::StackId{};
    }
    snapshot::Stack stack{{}, end, merged.state};
    stack.frames.reserve(frames.size());
    for (const snapshot::Frame& frame : frames) {
      stack.frames.push_back(tables_.frame(frame));
    }
    return tables_.stack(stack);
  };
  snapshot::ThreadSample sample;
  sample.stack = intern(merged.frames);
  sample.python_stack = intern(merged.python_frames);
  sample.state = reading.state.state;
  sample.cpu_us = reading.state.cpu_us;
  sample.voluntary_switches = reading.state.voluntary_switches;
  sample.involuntary_switches = reading.state.involuntary_switches;
  thread.samples.push_back(sample);
  thread.locals.clear();
  if (options_.locals && reading.python) {
    add_locals(reading, merged.python_index, thread);
  }
}

// Partial only where something is missing that the diagnosis needs: the main thread's stack.
void Collector::judge(const Reading& main) {
  std::string why;
  const bool readable = main.state.state != 'R' && !is_dead(main.state);
  if (options_.native && readable && main.native.frames.empty()) {
    why = "no native stack of the main thread: its registers cannot be read";
  }
  if (options_.python && !python_trouble_.empty()) {
    why += why.empty() ? python_trouble_ : "; " + python_trouble_;
  }
  process_.state = main.state.state;
  process_.read = why.empty() ? snapshot::ReadState::kFull : snapshot::ReadState::kPartial;
  process_.why = tables_.string(why);
}

Status Collector::run() {
  ODDRANK_TRY(auto states, target_.threads());
  if (states.empty()) {
    return fail(Errc::kGone, "pid " + std::to_string(target_.pid()) + " has no threads any more");
  }
  if (options_.python) {
    find_python();
  }
  std::vector<Reading> readings;
  readings.reserve(states.size());
  for (attach::ThreadState& state : states) {
    Reading reading;
    reading.state = std::move(state);
    readings.push_back(std::move(reading));
  }
  const auto any_moved = [&readings] {
    return std::any_of(readings.begin(), readings.end(),
                       [](const Reading& one) { return one.moved && !one.gone; });
  };
  for (int round = 0; round < kRounds && any_moved(); ++round) {
    read_round(readings, round == 0);
  }
  FrameConverter converter(modules_, tables_,
                           python_ ? python_->evaluation_ranges() : std::vector<ElfRange>());
  for (const Reading& reading : readings) {
    add_sample(reading, converter);
  }
  judge(readings.front());
  return ok();
}

}  // namespace

Status collect_stacks(const attach::Target& target,
                      const CollectOptions& options,
                      snapshot::Tables& tables,
                      snapshot::ProcessCapture& process) {
  return Collector(target, options, tables, process).run();
}

}  // namespace oddrank::stacks
