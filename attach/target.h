// One process to be read: live, a core file, or simulated by a test. Everything above attach/ knows
// processes through this interface only: no /proc, no ptrace, no clock.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attach/address.h"
#include "attach/clocks/run_clock.h"
#include "attach/memory_map.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace oddrank::attach {

// The registers that unwinding needs. For a blocked thread that was not stopped, only pc and sp are
// known
// (/proc/TID/syscall); `all` says whether the others are real.
struct Registers {
  std::uint64_t pc = 0;
  std::uint64_t sp = 0;
  bool all = false;
  std::uint64_t frame_pointer = 0;  // x86-64: rbp; aarch64: x29
  std::uint64_t link = 0;           // where a leaf function returns to; aarch64: x30
  // Other registers that a function must preserve for its caller. x86-64: rbx, r12 to r15; aarch64:
  // x19 to x28.
  std::array<std::uint64_t, 10> kept{};
  std::uint64_t thread_pointer = 0;  // x86-64: fs_base; aarch64: tpidr_el0
  // Bits of a return address that hold its signature (aarch64: pointer authentication); 0: unknown.
  std::uint64_t signature_mask = 0;
};

struct SyscallState {
  std::int64_t number = -1;  // -1: blocked in the kernel, but not in a system call (page fault)
  std::array<std::uint64_t, 6> arguments{};
};

// One thread at one moment.
struct ThreadState {
  pid_t tid = 0;         // in our pid namespace
  pid_t target_tid = 0;  // in the target's own pid namespace (NSpid)
  std::string name;      // comm
  char state = '?';      // R S D T t Z X I
  int cpu = -1;          // where it last ran; -1 if unknown
  std::string wchan;     // "" if it runs or the kernel does not show it
  std::uint64_t cpu_us = 0;
  std::uint64_t voluntary_switches = 0;
  std::uint64_t involuntary_switches = 0;
  // TracerPid. The tracer of a thread that is not stopped is known only if the main thread is
  // traced, too.
  pid_t tracer = 0;
  std::optional<RunMoment> ran;         // when it last had a CPU; nullopt if that is not shown
  std::optional<SyscallState> syscall;  // nullopt: it runs, or may not be read
  std::optional<Registers> registers;   // nullopt: it runs, or may not be read
};

// The outcome of an attempt to stop a thread.
enum class StopEnd : std::uint8_t {
  kHeld = 0,  // it stood still, and all its registers are known
  kSpared,    // it blocked meanwhile, so it was left alone
  kGone,      // it exited
  kTraced,    // another process traces it
  kLate,      // it did not stop in time: it is in state D, or gets no CPU
  kRefused,   // the kernel denies it
};

struct StopAttempt {
  // kHeld: `state` R, or S or T as it was before; all registers. kTraced: `tracer`. Else as given.
  ThreadState thread;
  StopEnd end = StopEnd::kRefused;
  std::string why;  // if neither held nor spared: "it is traced by gdb (pid 77)"
};

// The outcome of one stop of several threads.
struct Stop {
  std::vector<StopAttempt> threads;   // in the order of the request
  std::size_t held = 0;               // how many of them were stopped
  std::chrono::microseconds took{0};  // from the first request until the last one was released
};

struct ReadRequest {
  Addr address{};
  std::span<std::byte> into;
  std::size_t got = 0;  // out: bytes read from the start of `into`

  bool is_whole() const { return got == into.size(); }
};

inline bool all_whole(std::span<const ReadRequest> requests) {
  return std::all_of(requests.begin(), requests.end(),
                     [](const ReadRequest& one) { return one.is_whole(); });
}

// Returns a request for an object of trivially copyable type.
template <typename T>
ReadRequest request_of(Addr address, T& object) {
  return {address, std::as_writable_bytes(std::span<T, 1>(&object, 1)), 0};
}

class Target {
 public:
  Target() = default;
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;
  Target(Target&&) = delete;
  Target& operator=(Target&&) = delete;
  virtual ~Target() = default;

  virtual pid_t pid() const = 0;
  // Command name for messages: "python3".
  virtual const std::string& name() const = 0;

  // Fills `into` from the target's memory; all of it or an Error that names the address. Never
  // touches memory that is not mapped there.
  virtual Status read(Addr address, std::span<std::byte> into) const = 0;
  // Does many small reads in few system calls; sets `got` of each. Never fails as a whole.
  virtual void read_many(std::span<ReadRequest> requests) const = 0;

  // As read when the target was opened, or at the first call.
  virtual const MemoryMap& maps() const = 0;

  // Opens the file behind a mapping, as the target sees it (its mount namespace, even if deleted).
  // The caller must check that build ids agree before it trusts the file.
  virtual Result<UniqueFd> open_file(const Mapping& mapping) const = 0;

  // Reads every thread afresh, main thread first; leaves out threads that exited meanwhile.
  virtual Result<std::vector<ThreadState>> threads() const = 0;
  // Reads one thread again, to see whether it moved while its stack was read. kGone if it has
  // exited.
  virtual Result<ThreadState> thread(pid_t tid) const = 0;
  // Reads at least what shows whether it moved: state, call, registers, switches, tracer and
  // target_tid.
  virtual Result<ThreadState> motion(pid_t tid) const { return thread(tid); }
  // Returns the signals that a thread blocks now (bit n-1: signal n); nullopt if unknown.
  virtual std::optional<std::uint64_t> blocked_signals(pid_t /*tid*/) const { return std::nullopt; }

  // Stops these threads, all together, calls `look`, and releases them. Leaves out threads that
  // have not stopped after `patience`; does not call `look` if none has. `threads` is the last
  // known state of each: one that has blocked since is spared, because a stop makes some calls fail
  // with EINTR (and a blocked thread can be read without a stop). `look` should only read the
  // target, since the threads wait for it. It may run in a thread other than the caller's, which
  // waits. kUnsupported: this target's threads do not run (a core file), or cannot be stopped.
  virtual Result<Stop> while_stopped(
      std::span<const ThreadState> /*threads*/,
      std::chrono::milliseconds /*patience*/,
      const std::function<void(std::span<const StopAttempt>)>& /*look*/) const {
    return fail(Errc::kUnsupported, "the threads of this target cannot be stopped");
  }
};

// Reads one object of trivially copyable type T.
template <typename T>
Result<T> read_object(const Target& target, Addr address) {
  T value{};
  ODDRANK_TRY_STATUS(target.read(address, std::as_writable_bytes(std::span<T, 1>(&value, 1))));
  return value;
}

}  // namespace oddrank::attach
