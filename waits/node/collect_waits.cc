#include "waits/node/collect_waits.h"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "attach/clocks/run_clock.h"
#include "attach/proc_fds.h"
#include "attach/proc_stat.h"
#include "attach/proc_status.h"
#include "base/clock_us.h"
#include "base/read_file.h"
#include "waits/cgroups.h"
#include "waits/fd_kind.h"
#include "waits/mounts.h"
#include "waits/python/kept_sockets.h"
#include "waits/python/lock_files.h"
#include "waits/python/loop_feeders.h"
#include "waits/python/polled_objects.h"
#include "waits/python/process_ends.h"
#include "waits/python/python_locks.h"
#include "waits/python/ray_objects.h"
#include "waits/python/store_keys.h"
#include "waits/wait_of_thread.h"

namespace oddrank::waits {
namespace {

using attach::ThreadState;
using cpython::PythonSample;
using snapshot::Known;
using snapshot::ProcessCapture;
using snapshot::ThreadCapture;
using snapshot::WaitOn;

// An epoll file has one line of 90 bytes for each watched file. The kernel makes the whole text for
// the first read, so a smaller limit would spare the process nothing.
constexpr std::size_t kMaxFdinfo = std::size_t{16} << 20;

// Files of the live process, read only if a wait needs them.
class LiveFiles final : public ProcessFiles {
 public:
  explicit LiveFiles(pid_t pid) : pid_(pid) {}

  std::string link(int fd) const override;
  std::string folder() const override;
  std::string info(int fd) const override;
  std::string locked_files() const override;
  std::string mounts() const override;
  std::string freezer() const override;
  std::uint64_t clock_us(clockid_t clock) const override;
  pid_t process_of_thread(pid_t tid) const override;

 private:
  pid_t pid_;
  mutable std::optional<std::string> locks_;
  mutable std::optional<std::string> mounts_;
  mutable std::optional<std::string> freezer_;
};

std::string LiveFiles::link(int fd) const {
  const auto open = attach::read_fd(pid_, fd);
  if (!open) {
    return {};
  }
  return open->link.ends_with("/ptmx") ? terminal_side(open->link, info(fd)) : open->link;
}

std::string LiveFiles::folder() const {
  return attach::read_process_link(pid_, "cwd").value_or(std::string());
}

std::string LiveFiles::info(int fd) const {
  const std::string path = attach::process_folder(pid_) + "/fdinfo/" + std::to_string(fd);
  return read_file(path, kMaxFdinfo).value_or(std::string());
}

std::string LiveFiles::locked_files() const {
  if (!locks_) {
    locks_ = read_file("/proc/locks").value_or(std::string());
  }
  return *locks_;
}

std::string LiveFiles::mounts() const {
  if (!mounts_) {
    mounts_ = read_file(attach::process_folder(pid_) + "/mountinfo", kMaxMountinfo)
                  .value_or(std::string());
  }
  return *mounts_;
}

std::string LiveFiles::freezer() const {
  if (!freezer_) {
    freezer_ = freezer_state(pid_);
  }
  return *freezer_;
}

// Other clocks are of one process, which would be ours.
std::uint64_t LiveFiles::clock_us(clockid_t clock) const {
  const bool is_of_machine =
      clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC || clock == CLOCK_BOOTTIME;
  return is_of_machine ? oddrank::clock_us(clock) : 0;
}

pid_t LiveFiles::process_of_thread(pid_t tid) const {
  const auto status = attach::read_proc_status(tid);
  return status ? status->process : 0;
}

// The files of a core file's process are gone.
class NoFiles final : public ProcessFiles {
 public:
  std::string link(int /*fd*/) const override { return {}; }
  std::string info(int /*fd*/) const override { return {}; }
  std::string locked_files() const override { return {}; }
};

// Checks holders that the kernel named by pid. While a thread is blocked on a file lock, the lock
// is held: if the process that took it is gone, another process has inherited the file.
void look_for_holder(ThreadWait& wait) {
  if (wait.holder_pid <= 0 || wait.holder_alive != Known::kUnknown) {
    return;
  }
  const auto stat = attach::read_proc_stat(wait.holder_pid);
  if (wait.on == WaitOn::kFileLock) {
    const bool there = stat && stat->state != 'Z' && stat->state != 'X';
    wait.holder_alive = there ? Known::kYes : Known::kUnknown;
    return;
  }
  if (stat) {
    wait.holder_alive = stat->state == 'Z' || stat->state == 'X' ? Known::kNo : Known::kYes;
  } else if (stat.error().code == Errc::kGone) {
    wait.holder_alive = Known::kNo;
  }
}

void name_tracer(ThreadWait& wait) {
  if (wait.on != WaitOn::kDebugger || wait.holder_pid <= 0) {
    return;
  }
  if (const auto stat = attach::read_proc_stat(wait.holder_pid)) {
    wait.detail += " (" + stat->name + ")";
  }
}

// [thread of the process] -> its state; null: it is not among them.
std::vector<const ThreadState*> states_of(const std::vector<ThreadState>& states,
                                          const ProcessCapture& process) {
  std::unordered_map<pid_t, const ThreadState*> by_tid;
  for (const ThreadState& state : states) {
    by_tid.emplace(state.tid, &state);
  }
  std::vector<const ThreadState*> found;
  found.reserve(process.threads.size());
  for (const ThreadCapture& thread : process.threads) {
    const auto at = by_tid.find(thread.tid);
    found.push_back(at == by_tid.end() ? nullptr : at->second);
  }
  return found;
}

// Reads the wait of each thread of the process. It stays empty for a thread that is not in
// `states`.
std::vector<ThreadWait> waits_of(const attach::Target& target,
                                 const std::vector<ThreadState>& states,
                                 const ProcessFiles& files,
                                 const ProcessCapture& process) {
  std::vector<ThreadWait> waits(process.threads.size());
  const std::vector<const ThreadState*> found = states_of(states, process);
  for (std::size_t i = 0; i < waits.size(); ++i) {
    if (const ThreadState* state = found[i]) {
      waits[i] = wait_of_thread({target, files, states, *state});
    }
  }
  return waits;
}

// Names the sockets of the tasks; drops descriptors that are not sockets.
void name_sockets(const ProcessFiles& files, snapshot::Tables& tables, ProcessCapture& process) {
  for (snapshot::AsyncTask& task : process.tasks) {
    for (snapshot::KeptSocket& socket : task.sockets) {
      const std::string link = files.link(socket.fd);
      socket.link = link.starts_with("socket:") ? tables.string(link) : snapshot::StringId();
    }
    const auto is_none = [](const snapshot::KeptSocket& socket) {
      return socket.link == snapshot::StringId{};
    };
    task.at_socket = task.at_socket && !is_none(task.sockets.front());
    erase_if(task.sockets, is_none);
  }
}

void finish(std::vector<ThreadWait>& waits,
            const std::vector<ThreadState>& states,
            std::optional<PythonSample>& python,
            const ProcessFiles& files,
            snapshot::Tables& tables,
            ProcessCapture& process) {
  if (python) {
    PythonWaits all{*python, states, tables, process, waits};
    read_python_locks(all);
    read_lock_files(all);
    read_polled_objects(all);
    read_store_keys(all);
    read_ray_objects(all);
    read_kept_sockets(all, files);
    read_process_ends(all);
    read_loop_feeders(all);
  }
  for (std::size_t i = 0; i < waits.size(); ++i) {
    process.threads[i].wait = to_capture(waits[i], tables);
  }
  name_sockets(files, tables, process);
}

// Names the tracers in the last sample, even of threads that are not stopped: strace and gdb stop
// them only for an instant.
void name_tracers(snapshot::Tables& tables, ProcessCapture& process) {
  for (ThreadCapture& thread : process.threads) {
    if (thread.samples.empty() || thread.samples.back().tracer <= 0) {
      continue;
    }
    snapshot::ThreadSample& sample = thread.samples.edit_back();
    if (const auto stat = attach::read_proc_stat(sample.tracer)) {
      sample.tracer_name = tables.string(stat->name);
    }
  }
}

// Notes how long a thread has not run; a thread that runs does not wait.
void note_quiet(const std::vector<ThreadState>& states, ProcessCapture& process) {
  auto clock = attach::RunClock::here();
  if (!clock) {
    return;
  }
  const std::vector<const ThreadState*> found = states_of(states, process);
  for (std::size_t i = 0; i < found.size(); ++i) {
    ThreadCapture& thread = process.threads[i];
    const ThreadState* state = found[i];
    if (state == nullptr || !state->ran ||
        std::string_view("SDTtI").find(state->state) == std::string::npos) {
      continue;
    }
    if (const auto quiet = clock->find_not_run_for(*state->ran)) {
      thread.wait.quiet_ms = std::chrono::duration_cast<std::chrono::milliseconds>(*quiet).count();
    }
  }
}

}  // namespace

void collect_waits(const attach::Target& target,
                   const std::vector<ThreadState>& states,
                   std::optional<PythonSample>& python,
                   snapshot::Tables& tables,
                   ProcessCapture& process) {
  const LiveFiles files(target.pid());
  std::vector<ThreadWait> waits = waits_of(target, states, files, process);
  for (ThreadWait& wait : waits) {
    look_for_holder(wait);
    name_tracer(wait);
  }
  finish(waits, states, python, files, tables, process);
  name_tracers(tables, process);
  note_quiet(states, process);
}

void collect_core_waits(const attach::Target& target,
                        const std::vector<ThreadState>& states,
                        std::optional<PythonSample>& python,
                        snapshot::Tables& tables,
                        ProcessCapture& process) {
  std::vector<ThreadWait> waits = waits_of(target, states, NoFiles(), process);
  finish(waits, states, python, NoFiles(), tables, process);
}

}  // namespace oddrank::waits
