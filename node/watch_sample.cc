#include "node/watch_sample.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <functional>
#include <string_view>

#include "attach/clocks/run_clock.h"
#include "attach/live_target.h"
#include "attach/proc_stat.h"
#include "attach/proc_task.h"
#include "base/base_name.h"
#include "base/isolated.h"
#include "base/parse_number.h"
#include "base/proc/own_proc.h"
#include "base/read_file.h"
#include "base/split.h"
#include "collectives/collect_groups.h"
#include "collectives/torch/meeting_place.h"
#include "cpython/python_process.h"
#include "elf/module_map.h"
#include "node/ask_process.h"
#include "node/collect/count_launches.h"
#include "node/isolated_read.h"
#include "node/log_growth.h"
#include "ranks/discover.h"
#include "snapshot/locals_change.h"
#include "snapshot/loops/loop_polls.h"
#include "snapshot/replicas/number_replicas.h"

namespace oddrank::node {
namespace {

using cpython::PythonFrame;
using cpython::PythonProcess;
using cpython::PythonThread;
using std::chrono::milliseconds;
using watch::RankSign;

constexpr milliseconds kSampleTimeout{5000};
constexpr milliseconds kFindTimeout{10000};
constexpr std::size_t kSamplesAtOnce = 4;
constexpr std::size_t kShownFrames = 4;
constexpr std::size_t kShownName = 48;

std::uint64_t hash_with(std::uint64_t seed, std::string_view text) {
  return (seed * 1099511628211U) ^ std::hash<std::string_view>()(text);
}

// The outermost loop of a thread that only polls: what its code sets, and what runs within it, is
// no progress.
struct PollingLoop {
  std::size_t frame = 0;  // index into the thread's frames
  std::vector<std::string> sets;
};

snapshot::NamedLoop named(const cpython::FrameLoop& loop) {
  snapshot::NamedLoop result{.iterates = loop.iterates, .cut = loop.cut, .calls = {}};
  for (const cpython::FrameCall& call : loop.calls) {
    result.calls.push_back(snapshot::named_call(call.name, !call.object.empty()));
    result.calls.back().ends = call.ends;
  }
  return result;
}

std::optional<PollingLoop> find_polling_loop(const PythonThread& thread) {
  std::optional<PollingLoop> found;
  for (std::size_t i = 0; i < thread.frames.size(); ++i) {
    for (const cpython::FrameLoop& loop : thread.frames[i].loops) {
      const snapshot::NamedLoop calls = named(loop);
      const auto asks = snapshot::find_asking_call(calls);
      if (loop.calls.empty() || loop.cut || (asks && asks->on == snapshot::PollOn::kUnknown)) {
        return found;  // it may work, and so may the loops around it
      }
      if (asks) {
        found = {i, loop.sets};
      }
    }
  }
  return found;
}

bool counts_for_motion(const std::optional<PollingLoop>& polls,
                       std::size_t frame,
                       const std::string& variable) {
  return !polls || frame > polls->frame ||
         (frame == polls->frame &&
          std::find(polls->sets.begin(), polls->sets.end(), variable) == polls->sets.end());
}

std::uint64_t place_of(const PythonThread& thread,
                       const std::optional<PollingLoop>& polls,
                       bool with_locals) {
  std::uint64_t place = 14695981039346656037U;
  for (std::size_t i = 0; i < thread.frames.size(); ++i) {
    const PythonFrame& frame = thread.frames[i];
    place = hash_with(place, frame.function);
    place = hash_with(place, frame.file);
    place = hash_with(place, std::to_string(frame.line));
    for (const auto& local : frame.locals) {
      if (with_locals && counts_for_motion(polls, i, local.name) &&
          !snapshot::is_fraction(local.value)) {
        place = hash_with(hash_with(place, local.name), local.value);
      }
    }
  }
  return place;
}

std::string place_words(const PythonThread& thread) {
  std::string words;
  for (std::size_t i = 0; i < thread.frames.size() && i < kShownFrames; ++i) {
    const PythonFrame& frame = thread.frames[i];
    words += (i == 0 ? "" : " < ") + frame.function.substr(0, kShownName) + " (" +
             std::string(base_name(frame.file).substr(0, kShownName)) + ":" +
             std::to_string(frame.line) + ")";
  }
  return words;
}

// Returns whether the main thread waits for another one; then what any thread does counts.
bool waits_for_thread(const PythonThread& main) {
  constexpr std::array<std::string_view, 4> kWaiters = {"threading.py", "queue.py", "selectors.py",
                                                        "_base.py"};
  return !main.frames.empty() && std::find(kWaiters.begin(), kWaiters.end(),
                                           base_name(main.frames.front().file)) != kWaiters.end();
}

void note_python(const std::vector<PythonThread>& threads, pid_t target_pid, RankSign& sign) {
  const auto main = std::find_if(threads.begin(), threads.end(), [&](const PythonThread& thread) {
    return thread.target_tid == target_pid;
  });
  if (main == threads.end()) {
    return;
  }
  const auto polls = find_polling_loop(*main);
  sign.places = {place_of(*main, polls, true)};
  sign.where = place_words(*main);
  // What it polls for may be another thread's work.
  if (!waits_for_thread(*main) && !polls) {
    return;
  }
  for (const PythonThread& thread : threads) {
    if (&thread != &*main) {
      sign.places.push_back(place_of(thread, std::nullopt, false));
    }
  }
}

// Returns the number of all calls that the process groups have been given; nullopt if no group
// counts its calls.
std::optional<std::uint64_t> calls_of(pid_t pid) {
  const auto target = attach::LiveTarget::open(pid);
  if (!target) {
    return std::nullopt;
  }
  elf::ModuleMap modules(**target);
  const auto python = PythonProcess::find(**target, modules);
  if (!python) {
    return std::nullopt;
  }
  snapshot::Capture none;
  snapshot::ProcessCapture process;
  collectives::collect_groups(*python, none.tables, process);
  std::optional<std::uint64_t> calls;
  for (const snapshot::ProcessGroup& group : process.groups) {
    for (const snapshot::GroupCounter& counter : group.counters) {
      for (const std::int64_t count : {counter.collectives, counter.transfers}) {
        calls = calls.value_or(0) + (count > 0 ? static_cast<std::uint64_t>(count) : 0);
      }
    }
  }
  return calls;
}

std::string backends_of(const PythonProcess& python) {
  snapshot::Capture none;
  snapshot::ProcessCapture process;
  collectives::collect_groups(python, none.tables, process);
  std::string backends;
  for (const snapshot::ProcessGroup& group : process.groups) {
    const std::string_view backend = none.tables.text(group.backend);
    if (!backend.empty() && backends.find(backend) == std::string::npos) {
      backends += (backends.empty() ? "" : ",") + std::string(backend);
    }
  }
  return backends;
}

void note_native(const attach::ThreadState& state, RankSign& sign) {
  const std::string call =
      state.syscall ? "system call " + std::to_string(state.syscall->number) : "";
  const std::string pc = state.registers ? std::to_string(state.registers->pc) : "";
  sign.places = {hash_with(hash_with(7, call), pc)};
  sign.where = state.state == 'R' ? "runs" : state.wchan.empty() ? call : state.wchan;
}

void sample_frames(const attach::ThreadState& state, bool groups, RankSign& sign) {
  sign.frames_read = true;
  const auto target = attach::LiveTarget::open(sign.pid);
  if (!target) {
    sign.trouble =
        target.error().what + (target.error().hint.empty() ? "" : " (" + target.error().hint + ")");
    return;
  }
  elf::ModuleMap modules(**target);
  const auto python = PythonProcess::find(**target, modules);
  const auto threads =
      python ? python->threads(cpython::Locals::kDeciding) : tl::unexpected<Error>(python.error());
  if (!threads) {
    note_native(state, sign);
    return;
  }
  note_python(*threads, state.target_tid, sign);
  if (groups) {
    sign.backends = backends_of(*python);
    const auto timeout = collectives::read_group_timeout(*python).value_or(milliseconds(0));
    sign.group_timeout_s = std::chrono::duration_cast<std::chrono::seconds>(timeout).count();
  }
}

std::uint64_t stored_bytes(pid_t pid) {
  const auto text = read_file("/proc/" + std::to_string(pid) + "/io", 4096);
  std::uint64_t bytes = 0;
  for (const std::string_view line : text ? split(*text, '\n') : std::vector<std::string_view>()) {
    for (const std::string_view name : {"read_bytes: ", "write_bytes: "}) {
      if (line.starts_with(name)) {
        bytes += parse_number<std::uint64_t>(line.substr(name.size())).value_or(0);
      }
    }
  }
  return bytes;
}

std::int64_t unrun_ms(pid_t pid) {
  auto clock = attach::RunClock::here();
  const auto stat = attach::read_thread_stat(pid, pid);
  if (!clock || !stat || stat->state == 'R') {
    return -1;
  }
  const auto quiet = clock->find_not_run_for(pid, pid, stat->cpu);
  return quiet ? std::chrono::duration_cast<milliseconds>(*quiet).count() : -1;
}

// Runs in a child: any of the files may be on a file system that does not answer.
RankSign sample_rank(const RankSign& before,
                     const watch::SampleRequest& request,
                     const std::vector<std::string>& logs) {
  RankSign sign;
  sign.pid = before.pid;
  sign.rank = before.rank;
  const auto state = attach::read_thread_state(sign.pid, sign.pid);
  if (!state || state->state == 'Z' || state->state == 'X') {
    sign.gone = true;
    return sign;
  }
  sign.state = state->state;
  sign.unrun_ms = unrun_ms(sign.pid);
  sign.switches = state->voluntary_switches + state->involuntary_switches;
  const bool ran = !before.frames_read || sign.switches != before.switches || sign.state == 'R';
  if ((request.frames && ran) || request.groups) {
    sample_frames(*state, request.groups, sign);
  } else {
    // It has not run, so the next sample is compared with the frames of the last one.
    sign.frames_read = before.frames_read;
    sign.switches = before.switches;
    sign.places = before.places;
    sign.where = before.where;
    sign.trouble = before.trouble;
  }
  if (request.launches) {
    sign.launches = count_launches(sign.pid);
    sign.calls = calls_of(sign.pid);
  }
  sign.stored_bytes = stored_bytes(sign.pid);
  std::vector<LogPlace> all_logs = {{"", sign.pid, STDOUT_FILENO}, {"", sign.pid, STDERR_FILENO}};
  for (const std::string& log : logs) {
    all_logs.push_back({log});
  }
  const LogSample log = sample_logs(all_logs, before.log_bytes);
  sign.log_bytes = log.bytes;
  sign.log_by_watcher = log.by_watcher;
  return sign;
}

constexpr std::string_view kNoReturn = "its sample did not end in time: state ";

// Returns what can be read without blocking, for a rank whose sample did not end in time.
RankSign sample_from_outside(const RankSign& before) {
  RankSign sign = before;
  const auto stat = attach::read_proc_stat(sign.pid);
  sign.gone = !stat || stat->state == 'Z' || stat->state == 'X';
  if (stat) {
    sign.state = stat->state;
    sign.trouble = std::string(kNoReturn) + stat->state;
  }
  return sign;
}

// Returns whether a sample would block again: each would leave a reader that cannot be killed.
bool still_blocks(const RankSign& before) {
  if (!before.trouble.starts_with(kNoReturn)) {
    return false;
  }
  const auto stat = attach::read_proc_stat(before.pid);
  return stat && stat->state == 'D';
}

}  // namespace

std::vector<RankSign> sample_ranks(const std::vector<RankSign>& targets,
                                   const watch::SampleRequest& request,
                                   const std::vector<std::string>& logs) {
  std::vector<IsolatedTask> tasks;
  std::vector<RankSign> signs;
  std::vector<std::size_t> sampled;  // of the sign of each task
  for (const RankSign& target : targets) {
    signs.push_back(target);
    if (still_blocks(target)) {
      continue;
    }
    sampled.push_back(signs.size() - 1);
    tasks.push_back({[&target, &request, &logs](int fd) {
                       send_bytes(fd, encode_sign(sample_rank(target, request, logs)));
                     },
                     kSampleTimeout});
  }
  const auto results = run_isolated(tasks, kSamplesAtOnce, std::size_t{1} << 20);
  for (std::size_t i = 0; i < results.size(); ++i) {
    RankSign& sign = signs[sampled[i]];
    auto read = watch::decode_sign(results[i].bytes);
    sign = read ? *std::move(read) : sample_from_outside(sign);
  }
  return signs;
}

Result<snapshot::Capture> find_ranks(const std::string& slurm_job) {
  ODDRANK_TRY_STATUS(check_own_proc());
  ranks::DiscoverOptions discover;
  discover.slurm_job = slurm_job;
  discover.training_only = !slurm_job.empty();
  discover.exclude = {::getpid()};
  discover.ask = ask_process;
  const IsolatedTask task{[&discover](int fd) {
                            snapshot::Capture found;
                            found.nodes.emplace_back();
                            const Status status = ranks::discover(discover, found);
                            snapshot::number_replicas(found);
                            send_capture(fd, status
                                                 ? Result<snapshot::Capture>(std::move(found))
                                                 : Result<snapshot::Capture>(fail(status.error())));
                          },
                          kFindTimeout};
  return received_capture(run_isolated({task}, 1).front());
}

}  // namespace oddrank::node
