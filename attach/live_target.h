// A live process, read without stopping it: /proc and process_vm_readv. Only while_stopped() stops
// its threads (attach/thread_stop.h).
//
// Calls that touch the target's memory map (maps, and memory backed by a dead file system) can
// block for a target in state D; run them in a child with a deadline (base/isolated.h).
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "attach/target.h"
#include "attach/task_files.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace oddrank::attach {

class LiveTarget final : public Target {
 public:
  // A process whose main thread has ended is read through another thread, and has only the others.
  // kGone: no such process, or a zombie. kPermission: with the reason and a remedy
  // (attach/permission.h). kUnsupported: a kernel thread.
  static Result<std::unique_ptr<LiveTarget>> open(pid_t pid);

  pid_t pid() const override { return pid_; }
  const std::string& name() const override { return name_; }

  Status read(Addr address, std::span<std::byte> into) const override;
  void read_many(std::span<ReadRequest> requests) const override;

  // Reads the map at the first call, since that takes 2 ms for each process and not every caller
  // needs it. Empty if it cannot be read.
  const MemoryMap& maps() const override;

  // Opens regular files only, so that neither a FIFO nor a device is ever touched. For a deleted
  // file, returns its own bytes or an Error, never the file that has its name now.
  Result<UniqueFd> open_file(const Mapping& mapping) const override;

  Result<std::vector<ThreadState>> threads() const override;
  Result<ThreadState> thread(pid_t tid) const override;
  Result<ThreadState> motion(pid_t tid) const override;
  std::optional<std::uint64_t> blocked_signals(pid_t tid) const override;

  Result<Stop> while_stopped(
      std::span<const ThreadState> threads,
      std::chrono::milliseconds patience,
      const std::function<void(std::span<const StopAttempt>)>& look) const override;

 private:
  LiveTarget(pid_t pid, pid_t reader, std::string name, std::uint64_t start_us, UniqueFd memory)
      : pid_(pid),
        through_(reader),
        name_(std::move(name)),
        start_us_(start_us),
        memory_(std::move(memory)),
        tasks_(pid) {}

  // Reads with process_vm_readv; returns how many requests, counted from the first, are done.
  std::size_t read_batch(std::span<ReadRequest> requests) const;
  // Reads /proc/PID/mem, if process_vm_readv is missing or filtered.
  void read_one_by_pread(ReadRequest& request) const;

  pid_t pid_;
  pid_t through_;  // the thread through which its memory is read
  std::string name_;
  std::uint64_t start_us_;  // distinguishes the process from a later one with the same pid
  UniqueFd memory_;
  mutable TaskFiles tasks_;  // open files only save work
  mutable bool use_pread_ = false;
  mutable bool maps_read_ = false;
  mutable MemoryMap maps_;
};

}  // namespace oddrank::attach
