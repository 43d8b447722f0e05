#include "attach/live_target.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <utility>

#include "attach/files/open_mapped.h"
#include "attach/mapping_query.h"
#include "attach/permission.h"
#include "attach/proc_path.h"
#include "attach/proc_stat.h"
#include "attach/proc_status.h"
#include "attach/proc_task.h"
#include "attach/restarted_call.h"
#include "attach/thread_stop.h"
#include "base/hex.h"

namespace oddrank::attach {
namespace {

constexpr std::size_t kBatch = 1024;  // IOV_MAX of Linux

Error gone(pid_t pid) {
  return Error{Errc::kGone, "pid " + std::to_string(pid) + " ended", {}};
}

// Distributes the bytes of a batch to its requests, in order. Returns the number of requests that
// are done: those filled, and the one at which the kernel stopped.
std::size_t hand_out(std::span<ReadRequest> requests, std::size_t bytes) {
  for (std::size_t i = 0; i < requests.size(); ++i) {
    requests[i].got = std::min(bytes, requests[i].into.size());
    bytes -= requests[i].got;
    if (requests[i].got < requests[i].into.size()) {
      return i + 1;
    }
  }
  return requests.size();
}

}  // namespace

Result<std::unique_ptr<LiveTarget>> LiveTarget::open(pid_t pid) {
  if (pid <= 0) {
    return fail(Errc::kUsage, std::to_string(pid) + " is not a pid");
  }
  const auto stat = read_proc_stat(pid);
  if (!stat || stat->state == 'Z' || stat->state == 'X' || stat->kernel_thread) {
    return fail(why_unreadable(pid));
  }
  // The kernel checks our right here, once; reading through this descriptor is not checked again.
  // Opening touches neither the target's locks nor its memory.
  const pid_t through = stat->living == 0 ? pid : stat->living;
  const std::string path = task_path(pid, through, "mem");
  UniqueFd memory(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!memory.valid()) {
    return fail(why_unreadable(pid));
  }
  return std::unique_ptr<LiveTarget>(
      new LiveTarget(pid, through, stat->name, stat->start_us, std::move(memory)));
}

std::size_t LiveTarget::read_batch(std::span<ReadRequest> requests) const {
  // Not cleared: 32 KiB, and most batches are a single request.
  std::array<iovec, kBatch> local;
  std::array<iovec, kBatch> remote;
  const std::size_t count = std::min(requests.size(), kBatch);
  for (std::size_t i = 0; i < count; ++i) {
    const ReadRequest& request = requests[i];
    local.at(i) = iovec{request.into.data(), request.into.size()};
    // An address of the target, never dereferenced here.
    remote.at(i) = iovec{reinterpret_cast<void*>(value_of(request.address)),  // NOLINT
                         request.into.size()};
  }
  const ssize_t got = ::process_vm_readv(through_, local.data(), count, remote.data(), count, 0);
  if (got < 0) {
    if (errno == ENOSYS || errno == EPERM || errno == EACCES) {
      use_pread_ = true;  // the memory could be opened, so it is the call that is filtered
      return 0;
    }
    if (errno == ESRCH) {
      for (ReadRequest& request : requests) {
        request.got = 0;
      }
      return requests.size();
    }
    requests[0].got = 0;
    return 1;
  }
  return hand_out(requests.first(count), static_cast<std::size_t>(got));
}

void LiveTarget::read_one_by_pread(ReadRequest& request) const {
  request.got = 0;
  while (request.got < request.into.size()) {
    const std::uint64_t at = value_of(request.address) + request.got;
    if (at > static_cast<std::uint64_t>(LLONG_MAX)) {
      return;
    }
    const ssize_t got = ::pread(memory_.get(), request.into.data() + request.got,
                                request.into.size() - request.got, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got <= 0) {
      return;
    }
    request.got += static_cast<std::size_t>(got);
  }
}

void LiveTarget::read_many(std::span<ReadRequest> requests) const {
  std::size_t done = 0;
  while (done < requests.size() && !use_pread_) {
    done += read_batch(requests.subspan(done));
  }
  for (ReadRequest& request : requests.subspan(done)) {
    read_one_by_pread(request);
  }
}

Status LiveTarget::read(Addr address, std::span<std::byte> into) const {
  ReadRequest request{address, into};
  read_many(std::span(&request, 1));
  if (request.got == into.size()) {
    return ok();
  }
  const auto stat = read_proc_stat(pid_);
  if (!stat || stat->state == 'Z' || stat->state == 'X' || stat->start_us != start_us_) {
    return fail(gone(pid_));
  }
  return fail(Errc::kBadData, "cannot read " + std::to_string(into.size()) + " bytes of pid " +
                                  std::to_string(pid_) + " at address 0x" +
                                  hex_number(value_of(address)));
}

const MemoryMap& LiveTarget::maps() const {
  if (!maps_read_) {
    maps_read_ = true;
    if (auto map = read_memory_map(pid_)) {
      maps_ = *std::move(map);
    }
  }
  return maps_;
}

Result<UniqueFd> LiveTarget::open_file(const Mapping& mapping) const {
  return open_mapped(pid_, mapping);
}

Result<std::vector<ThreadState>> LiveTarget::threads() const {
  ODDRANK_TRY(const std::vector<pid_t> tids, read_tids(pid_));
  std::vector<ThreadState> states;
  states.reserve(tids.size());
  const auto stat = read_proc_stat(pid_);
  if (!stat || stat->start_us != start_us_) {
    return fail(gone(pid_));
  }
  for (const pid_t tid : tids) {
    if (auto state = tasks_.state(tid)) {
      name_restarted_call(*this, *state);
      states.push_back(*std::move(state));
    }
  }
  if (stat->living != 0 && !states.empty() && states.front().tid == pid_) {
    states.erase(states.begin());
  }
  if (states.empty()) {
    return fail(gone(pid_));
  }
  return states;
}

Result<ThreadState> LiveTarget::thread(pid_t tid) const {
  auto state = tasks_.state(tid);
  if (state) {
    name_restarted_call(*this, *state);
  }
  return state;
}

Result<ThreadState> LiveTarget::motion(pid_t tid) const {
  auto state = tasks_.motion(tid);
  if (state) {
    name_restarted_call(*this, *state);
  }
  return state;
}

std::optional<std::uint64_t> LiveTarget::blocked_signals(pid_t tid) const {
  const auto status = read_proc_status(tid);
  return status && status->process == pid_ ? std::optional(status->blocked) : std::nullopt;
}

Result<Stop> LiveTarget::while_stopped(
    std::span<const ThreadState> threads,
    std::chrono::milliseconds patience,
    const std::function<void(std::span<const StopAttempt>)>& look) const {
  return stop_threads(pid_, threads, patience, look);
}

}  // namespace oddrank::attach
