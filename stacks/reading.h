// Reads one process at one moment: each thread's state, its native stack, its Python frames, mostly
// without a stop; see reading.cc.
//
// Decides which threads may be stopped to be read. A stop makes some system calls fail with EINTR,
// which can end or change the diagnosed hang; threads in such calls are never stopped.
//
// Source: signal(7), "Interruption of system calls and library functions by stop signals", and
// Linux 6.18, tried on each call.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "attach/target.h"
#include "base/result.h"
#include "cpython/python_process.h"
#include "elf/module_map.h"
#include "stacks/collect_options.h"
#include "unwind/native_unwind.h"

namespace oddrank::stacks {

// What was read of one thread.
struct Reading {
  attach::ThreadState state;
  unwind::NativeStack native;
  std::optional<cpython::PythonThread> python;
  bool moved = true;  // since the state was read; its data may be from two instants
  bool gone = false;
  bool held = false;  // it was stopped while it was read
  // It ran, and its Python frames may be from different moments.
  bool torn = false;
  bool spare = false;     // seen in a call that a stop would end early
  std::string unstopped;  // why it could not be stopped, if that was tried: "it is traced by ..."
};

class ProcessReader {
 public:
  // The target must outlive the object.
  ProcessReader(const attach::Target& target, const CollectOptions& options);

  // Reads every thread, main thread first. Fails only if nothing could be read.
  Result<std::vector<Reading>> read();

  elf::ModuleMap& modules() { return modules_; }
  // Returns nullopt if this is not Python, or Python was not requested.
  const std::optional<cpython::PythonProcess>& python() const { return python_; }
  // Moves the last sample out; nullopt like python().
  std::optional<cpython::PythonSample> release_sample();
  // Returns the Python threads with frames that no thread of the process runs: left behind in the
  // child of a fork() that Python did not notice.
  const std::vector<cpython::PythonThread>& left_behind() const { return left_behind_; }
  // Returns why expected Python frames are missing; "" if none is missing.
  const std::string& python_trouble() const { return python_trouble_; }
  // Return how many threads were stopped, and for how long: from the first request until all were
  // released.
  std::size_t stopped() const { return stopped_; }
  std::chrono::microseconds stop_took() const { return stop_took_; }

 private:
  using Which = std::function<bool(const Reading&)>;

  void find_python();
  void read_python(std::vector<Reading>& readings, const Which& which);
  void look_again(Reading& reading);
  void read_round(std::vector<Reading>& readings, bool first);
  bool wants_stop(const Reading& reading) const;
  // Returns true if threads were not stopped because they had blocked: they can be read without a
  // stop now.
  bool read_stopped(std::vector<Reading>& readings);
  // Returns whether the Python frames that were just read were the thread's stack at one moment.
  bool is_of_one_moment(const Reading& reading) const;
  // Reads the Python frames of threads that have no native ones until they are of one moment.
  void settle_python(std::vector<Reading>& readings);
  // Lists the process's threads again, and drops from left_behind_ threads that have just ended or
  // begun.
  void check_left_behind();

  const attach::Target& target_;
  CollectOptions options_;
  elf::ModuleMap modules_;
  unwind::NativeUnwinder unwinder_;
  std::optional<cpython::PythonProcess> python_;
  std::vector<cpython::PythonThread> left_behind_;
  std::string python_trouble_;
  std::size_t stopped_ = 0;
  std::chrono::microseconds stop_took_{0};
};

// Returns whether the thread has exited, but was not yet reaped by its parent or tracer.
bool is_dead(const attach::ThreadState& state);

// Returns whether a stop does not affect the thread: it runs, SIGSTOP has already stopped it, or it
// is blocked in a call that the kernel restarts.
bool may_be_stopped(const attach::ThreadState& thread);

// Returns whether it is blocked in a call that the kernel is not known to restart. A thread seen in
// such a call must not be stopped at the next attempt either: it may be about to enter that call
// again.
bool must_be_spared(const attach::ThreadState& thread);

}  // namespace oddrank::stacks
