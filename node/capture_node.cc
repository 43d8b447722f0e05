#include "node/capture_node.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "attach/live_target.h"
#include "attach/proc_pids.h"
#include "attach/proc_stat.h"
#include "attach/proc_status.h"
#include "base/clock_us.h"
#include "base/deadline.h"
#include "base/isolated.h"
#include "base/log.h"
#include "base/proc/own_proc.h"
#include "base/shell_words.h"
#include "base/split.h"
#include "collectives/find_calls.h"
#include "collectives/join_flight.h"
#include "collectives/number_calls.h"
#include "node/ask_process.h"
#include "node/collect/collect_dumps.h"
#include "node/collect/collect_hardware.h"
#include "node/collect/collect_log.h"
#include "node/collect/collect_nccl_memory.h"
#include "node/collect/collect_programs.h"
#include "node/collect/collect_ras.h"
#include "node/collect/collect_recorders.h"
#include "node/collect/collect_step_tasks.h"
#include "node/enough_samples.h"
#include "node/files/silent_files.h"
#include "node/isolated_read.h"
#include "node/naming.h"
#include "node/node_budget.h"
#include "node/note_endings.h"
#include "node/note_lost_python.h"
#include "node/ray/collect_requests.h"
#include "node/read_outside.h"
#include "node/read_process.h"
#include "node/settle_ranks.h"
#include "ranks/discover.h"
#include "ranks/new_processes.h"
#include "ranks/process_facts.h"
#include "snapshot/carrier.h"
#include "snapshot/jobs/jobs.h"
#include "snapshot/join_samples.h"
#include "snapshot/rewrite.h"
#include "waits/ends/linked_jobs.h"
#include "waits/node/join_node.h"
#include "waits/node/stuck_processes.h"
#include "waits/node/written_bytes.h"

namespace oddrank::node {
namespace {

using snapshot::Capture;
using snapshot::ProcessCapture;
using snapshot::ReadState;
using std::chrono::milliseconds;

constexpr milliseconds kProgramPatience{1000};
constexpr milliseconds kDirectPatience{500};

// Notes processes beside the job's that have been in state D for long. A node without ranks has
// other things to say.
void note_stuck_processes(const std::vector<attach::ProcStat>& sleeping, Capture& node) {
  std::string note = node.processes.empty() ? "" : waits::stuck_processes_note(sleeping, node);
  if (!note.empty()) {
    node.nodes.front().notes.push_back(std::move(note));
  }
}

Result<Capture> find_processes(const NodeRequest& request, Capture node, milliseconds timeout) {
  attach::note_kernel_threads();
  ranks::DiscoverOptions discover;
  discover.pids = request.pids;
  discover.slurm_job = request.slurm_job;
  discover.slurm_step = request.slurm_step;
  if (request.slurm_user != kAnyUser) {
    discover.slurm_user = static_cast<uid_t>(request.slurm_user);
  }
  discover.exclude = {::getpid()};
  discover.ask = ask_process;
  std::vector<attach::ProcStat> sleeping;
  discover.visit = [&sleeping](const std::vector<ranks::ProcessFacts>& all) {
    for (const ranks::ProcessFacts& facts : all) {
      if (facts.stat.state == 'D') {
        sleeping.push_back(facts.stat);
      }
    }
  };
  IsolatedTask task{[&](int fd) {
                      const Status status = ranks::discover(discover, node);
                      note_stuck_processes(sleeping, node);
                      send_capture(fd, status ? Result<Capture>(std::move(node))
                                              : Result<Capture>(fail(status.error())));
                    },
                    std::min(timeout, kDirectPatience)};
  // The family of given processes is small, and mostly all processes of a node answer.
  discover.directly = !request.pids.empty();
  IsolatedResult result;
  if (discover.directly) {
    result = run_isolated({task}, 1).front();
  }
  if (result.end != IsolatedEnd::kFinished) {
    discover.directly = false;
    task.timeout = timeout;
    result = run_isolated({task}, 1).front();
  }
  if (result.end == IsolatedEnd::kDeadline) {
    return fail(Errc::kTimeout, "looking for ranks did not end in time",
                "a process in state D may hold its memory map; give the pids of the ranks");
  }
  return received_capture(result);
}

void add_answer(Capture& capture,
                ProcessCapture& process,
                const IsolatedResult& result,
                waits::FirstIo& io) {
  const auto read = received_capture(result);
  if (read && read->processes.size() == 1) {
    snapshot::Carrier carrier(read->tables, capture.tables);
    ProcessCapture sample = carrier.row(read->processes.front());
    sample.node = process.node;
    io.subtract_from(sample);
    snapshot::append_samples(capture.tables, process, std::move(sample));
    return;
  }
  process.why = capture.tables.string(read ? "the reader sent nothing" : read.error().what);
  if (process.read == ReadState::kNone) {
    read_from_outside(capture, process);
  }
}

IsolatedTask reading_task(const Capture& capture,
                          std::size_t i,
                          const ReadOptions& options,
                          milliseconds timeout) {
  return {[&capture, options, i](int fd) {
            ProcessCapture identity = capture.processes[i];
            identity.threads.clear();
            send_process(fd, read_process(capture, identity, options));
          },
          timeout,
          {},
          reading_owner(capture.processes[i].pid)};
}

// What one reading of the node uses.
struct Reading {
  NodeBudget budget;
  Drafts drafts;
  StepLog steps;
  std::uint64_t found_us = 0;  // since boot: when its processes were looked for
  SilentProcesses silent;
  std::optional<RecorderSearch> recorders;
  waits::FirstIo io{};
};

// Reads once more the processes that a file has held up until their deadline, without files that
// may hang.
void read_without_files(const Capture& capture,
                        const CaptureOptions& options,
                        const std::vector<std::size_t>& indices,
                        Reading& reading,
                        std::vector<IsolatedResult>& results) {
  const milliseconds patience = reading.budget.beside();  // it takes some milliseconds
  ReadOptions without = options.read;
  without.files = false;
  std::vector<IsolatedTask> tasks;
  std::vector<std::size_t> again;  // indices of results
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!results[i].held_up_by.empty() &&
        reading.silent.insert(capture.processes[indices[i]].pid).second) {
      again.push_back(i);
      tasks.push_back(reading_task(capture, indices[i], without, patience));
    }
  }
  std::vector<IsolatedResult> answers =
      run_isolated(tasks, readers_at_once(), kMaxOutput, patience);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (answers[i].end == IsolatedEnd::kFinished) {
      results[again[i]] = std::move(answers[i]);
    }
  }
}

// Adds the answers that have come so far.
void add_finished(Capture& capture,
                  const std::vector<std::size_t>& indices,
                  const std::vector<IsolatedResult>& so_far,
                  waits::FirstIo& io) {
  for (std::size_t i = 0; i < so_far.size(); ++i) {
    if (so_far[i].end == IsolatedEnd::kFinished) {
      add_answer(capture, capture.processes[indices[i]], so_far[i], io);
    }
  }
}

// Reads every process once and adds the answer to its earlier samples. Of the first `known` ones,
// those that have missed their deadline are not read again.
void take_sample(Capture& capture,
                 const CaptureOptions& options,
                 std::size_t known,
                 const NodeRequest& request,
                 Reading& reading) {
  std::vector<IsolatedTask> tasks;
  std::vector<std::size_t> indices;  // of the process of each task
  for (std::size_t i = 0; i < capture.processes.size(); ++i) {
    if (i < known && capture.processes[i].read == ReadState::kNone) {
      continue;
    }
    indices.push_back(i);
    ReadOptions read = options.read;
    read.files = !reading.silent.contains(capture.processes[i].pid);
    tasks.push_back(reading_task(capture, i, read, options.timeout));
  }
  const auto offer_draft = [&](const std::vector<IsolatedResult>& so_far) {
    reading.drafts.offer(capture, [&] { add_finished(capture, indices, so_far, reading.io); });
  };
  std::vector<IsolatedResult> results =
      run_isolated(tasks, readers_at_once(), kMaxOutput, reading.budget.of_sample(), offer_draft);
  read_without_files(capture, options, indices, reading, results);
  for (std::size_t i = 0; i < results.size(); ++i) {
    add_answer(capture, capture.processes[indices[i]], results[i], reading.io);
    if (request.progress) {
      request.progress(i + 1, results.size());
    }
  }
}

bool all_unread(const Capture& capture) {
  return std::all_of(
      capture.processes.begin(), capture.processes.end(),
      [](const ProcessCapture& process) { return process.read == ReadState::kNone; });
}

// Returns the next sample that the verdict needs. `begun`: when each sample did; `before`: the time
// that was spent before them.
NextSample choose_sample(const Capture& capture,
                         const std::vector<milliseconds>& begun,
                         milliseconds before,
                         Reading& reading) {
  NextSample next = next_sample(capture, begun);
  const bool ages_tell =
      next.reason == SampleReason::kYoungWaits || next.reason == SampleReason::kRuns;
  if (ages_tell && reading.recorders && spins_in_library(capture)) {
    next = next_sample(capture, begun,
                       ages_of_newest_events(capture, *reading.recorders, reading.budget.beside()));
  }
  if (begun.size() > 1) {
    next = in_time(next, {before, begun.back(), reading.budget.spent() - before - begun.back()});
  }
  return next;
}

// Takes as many samples as the options say, or until it is clear whether the ranks move. A single
// process gets no verdict, so two samples are enough. Begins to search for recorders after the
// first, if they are wanted.
void take_samples(Capture& capture,
                  const CaptureOptions& options,
                  const NodeRequest& request,
                  Reading& reading) {
  const bool adapts = options.until_decided && request.pids.size() != 1;
  const auto started = Deadline::Clock::now();
  const milliseconds before = reading.budget.spent();
  bool extended = false;
  std::vector<milliseconds> begun;
  NextSample next{SampleReason::kFirst};
  while (next.reason != SampleReason::kNone) {
    begun.push_back(std::chrono::duration_cast<milliseconds>(Deadline::Clock::now() - started));
    const std::size_t known = begun.size() == 1 ? 0 : capture.processes.size();
    if (begun.size() > 2) {  // if the waits are old from the start, no process has begun anything
      ranks::add_new_processes(capture, reading.found_us);
    }
    take_sample(capture, options, known, request, reading);
    reading.steps.done("sample " + std::to_string(begun.size()));
    if (all_unread(capture)) {
      return;
    }
    if (begun.size() == 1) {
      settle_ranks(capture);  // whether the ranks move decides about further samples
      if (options.beside) {
        reading.recorders.emplace(capture, reading.budget.beside());
      }
    }
    if (adapts) {
      next = choose_sample(capture, begun, before, reading);
    } else {
      const bool more = begun.size() < static_cast<std::size_t>(options.samples);
      next = {more ? SampleReason::kFirst : SampleReason::kNone, options.interval};
    }
    if (next.reason == SampleReason::kNone) {
      return;
    }
    if (next.reason != SampleReason::kFirst && !extended) {
      reading.budget.extend(longest_sampling(options));
      extended = true;
    }
    if (reading.budget.of_sample() <= next.after) {
      capture.nodes.front().notes.push_back("no time was left for sample " +
                                            std::to_string(begun.size() + 1) + " (--timeout)");
      return;
    }
    if (request.sampling_again && next.reason != SampleReason::kFirst) {
      request.sampling_again(next.reason, begun.size() + 1);
    }
    std::this_thread::sleep_until(started + begun.back() + next.after);
  }
}

// Names the native frames, and searches the files of a single rank for recorders on the way.
void name_frames(Capture& capture, Reading& reading) {
  const bool with_recorders = reading.recorders && reading.recorders->is_left_to_others();
  std::string found = name_in_child(capture, reading.silent, with_recorders);
  if (with_recorders) {
    reading.recorders->set_found(std::move(found));
  }
}

// Counts the collectives that the ranks have launched, before any of their threads is stopped.
void collect_counts(Capture& capture, const CaptureOptions& options, const NodeBudget& budget) {
  if (options.beside && options.ras) {
    collect_ras(capture, budget.before());
  }
  if (options.beside) {
    collect_nccl_memory(capture, budget.before());
  }
}

void collect_counts_again(Capture& capture,
                          const CaptureOptions& options,
                          const NodeBudget& budget) {
  if (options.beside && options.ras) {
    collect_ras_again(capture, budget.beside());
  }
  if (options.beside) {
    collect_nccl_memory_again(capture, budget.beside());
  }
}

// Collects the other sources about the job's communication. Call after find_calls: dumps add to its
// calls.
void collect_beside(Capture& capture,
                    RecorderSearch search,
                    HardwareReading& hardware,
                    const CaptureOptions& options,
                    const NodeBudget& budget) {
  PendingTask programs = read_programs_of(capture, std::min(budget.beside(), kProgramPatience));
  collect_recorders(capture, search, options.read.newest_calls, budget.beside());
  collect_dumps(capture, budget.beside());
  add_given_dumps(capture, options.fr, false, budget.beside());
  collectives::join_flight(capture);
  collectives::add_counted_calls(capture);
  collect_log(capture, budget.beside());
  collect_step_tasks(capture, budget.beside());
  collect_requests(capture, budget.beside());
  hardware.add_to(capture);
  add_programs(capture, std::move(programs));
}

// Returns the job of the process, of its child, or of the rank that has started it; "" if none is a
// rank.
std::string job_beside(const Capture& capture, pid_t pid) {
  const auto& all = capture.processes;
  const auto own = std::ranges::find(all, pid, &ProcessCapture::pid);
  const pid_t owner = own == all.end() ? 0 : own->owner;
  const auto found = std::ranges::find_if(all, [&](const ProcessCapture& process) {
    return process.is_rank && process.rank >= 0 &&
           (process.pid == pid || process.parent == pid || process.pid == owner);
  });
  return found == all.end() ? std::string() : std::string(capture.tables.text(found->job_key));
}

Status check_jobs(Capture& capture, const NodeRequest& request) {
  snapshot::JobSets together;
  if (!request.any_job && snapshot::job_keys(capture).size() > 1) {
    together = waits::linked_jobs_of_node(capture);
  }
  if (const std::string job = job_beside(capture, request.beside); !job.empty()) {
    ODDRANK_TRY_STATUS(snapshot::select_job(capture, job, together));
  }
  if (!request.select.empty()) {
    ODDRANK_TRY_STATUS(snapshot::select_job(capture, request.select, together));
  }
  const std::vector<std::string> keys = snapshot::job_keys(capture);
  if (keys.size() <= 1 || request.any_job || !request.pids.empty() || !request.slurm_job.empty() ||
      snapshot::set_with(together, keys.front()).size() >= keys.size()) {
    return ok();  // steps of a SLURM job are told apart where the nodes' answers are joined
  }
  return fail(Errc::kUsage, "ranks of " + std::to_string(keys.size()) + " jobs run on this node",
              "choose one, or --each for one report a job:" + snapshot::choices(keys));
}

std::string words_of_processes(const Capture& capture) {
  const auto ranks = std::count_if(capture.processes.begin(), capture.processes.end(),
                                   [](const ProcessCapture& process) { return process.is_rank; });
  const auto others = static_cast<std::ptrdiff_t>(capture.processes.size()) - ranks;
  return "found " + std::to_string(ranks) + (ranks == 1 ? " rank" : " ranks") +
         (others == 0 ? "" : " and " + std::to_string(others) + " more processes of theirs");
}

void note_survivors(Capture& capture) {
  for (const ProcessCapture& process : capture.processes) {
    if (process.outlives_rank) {
      capture.nodes.front().notes.push_back("rank " + std::to_string(process.rank) +
                                            " is gone; pid " + std::to_string(process.pid) + " (" +
                                            std::string(capture.tables.text(process.name)) +
                                            "), which it has started, lives on");
    }
  }
}

void note_ended_main_threads(Capture& capture) {
  for (const ProcessCapture& process : capture.processes) {
    const auto& threads = process.threads;
    if (!threads.empty() && std::none_of(threads.begin(), threads.end(), [&](const auto& thread) {
          return thread.tid == process.pid;
        })) {
      capture.nodes.front().notes.push_back("the main thread of pid " +
                                            std::to_string(process.pid) + " has ended, " +
                                            std::to_string(threads.size()) + " of its threads " +
                                            (threads.size() == 1 ? "lives" : "live"));
    }
  }
}

// Replaces each requested number that is the tid of a thread by the pid of its process.
void name_processes(NodeRequest& request, std::vector<std::string>& notes) {
  for (pid_t& pid : request.pids) {
    const auto status = attach::read_proc_status(pid);
    if (status && status->process != 0 && status->process != pid) {
      notes.push_back(std::to_string(pid) + " is a thread of pid " +
                      std::to_string(status->process));
      pid = status->process;
    }
  }
  std::set<pid_t> seen;
  std::erase_if(request.pids, [&seen](pid_t pid) { return !seen.insert(pid).second; });
}

// Returns why there is nothing to capture.
Error no_rank_found(const Capture& capture) {
  const auto& notes = capture.nodes.front().notes;
  if (const std::string hidden = attach::hidden_contents(); !hidden.empty()) {
    return {Errc::kPermission,
            "no rank could be seen on " + capture.nodes.front().host + ": " + hidden,
            "run oddrank as the owner of the job or as root, or mount /proc without hidepid"};
  }
  return {capture.nodes.front().why.empty() ? Errc::kNotFound : Errc::kTimeout,
          "no rank of a training job was found on " + capture.nodes.front().host +
              (notes.empty() ? "" : " (" + notes.front() + ")"),
          "a rank is a process with RANK, SLURM_PROCID, OMPI_COMM_WORLD_RANK, PMIX_RANK or "
          "PMI_RANK in its environment, or one that has joined a group of torch.distributed "
          "or jax.distributed; for any other process give its pid"};
}

// Names the frames, and finds what each thread waits for and the calls that it is in. `start`: what
// was counted before the processes were read.
void understand_processes(Capture& capture,
                          const CaptureOptions& options,
                          waits::NodeStart& start,
                          Reading& reading) {
  reading.drafts.offer(capture);
  name_frames(capture, reading);
  reading.steps.done("names of native frames");
  settle_ranks(capture);
  reading.drafts.offer(capture);
  note_survivors(capture);
  note_ended_main_threads(capture);
  note_endings(capture);
  if (options.read.python) {
    note_lost_python(capture);
  }
  const waits::OpenTarget open = [](pid_t pid) -> Result<std::unique_ptr<attach::Target>> {
    return attach::LiveTarget::open(pid);
  };
  waits::join_node(start, open, capture, reading.budget.beside());
  collectives::find_calls(capture);
  reading.steps.done("what each thread waits for, and its calls");
}

}  // namespace

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) {
    return "localhost";
  }
  return name.data();
}

Result<Capture> capture_node(NodeRequest request, const CaptureOptions& options) {
  ODDRANK_TRY_STATUS(check_own_proc());
  const auto started = Deadline::Clock::now();
  Reading reading{NodeBudget(options.timeout),
                  Drafts(request.draft, options.timeout),
                  {},
                  clock_us(CLOCK_BOOTTIME),
                  {},
                  {}};
  NodeBudget& budget = reading.budget;
  StepLog& steps = reading.steps;
  std::optional<RecorderSearch>& recorders = reading.recorders;
  Capture node;
  node.nodes.emplace_back();
  node.nodes.front().host = request.host.empty() ? host_name() : request.host;
  node.nodes.front().answered = true;
  name_processes(request, node.nodes.front().notes);
  waits::NodeStart start;
  ODDRANK_TRY(Capture capture, find_processes(request, std::move(node), options.timeout));
  ODDRANK_TRY_STATUS(check_jobs(capture, request));
  steps.done(words_of_processes(capture));
  if (capture.processes.empty()) {
    return fail(no_rank_found(capture));
  }
  std::optional<HardwareReading> hardware;  // it answers while the ranks are read
  if (options.beside) {
    hardware.emplace();
  }
  collect_counts(capture, options, budget);
  waits::start_counting(start, capture);
  steps.done("counters of NCCL, and sockets");
  budget.begin_reading();
  take_samples(capture, options, request, reading);
  if (options.beside && !recorders) {
    recorders.emplace(capture, budget.beside());  // no process could be read
  }
  collect_counts_again(capture, options, budget);
  understand_processes(capture, options, start, reading);
  reading.drafts.offer(capture);
  if (recorders && hardware) {
    collect_beside(capture, *std::move(recorders), *hardware, options, budget);
  }
  steps.done("recorders, dumps, logs and devices");
  if (options.inlines) {
    add_inlines_in_child(capture, budget.beside());
  }
  settle_job(capture);
  capture.nodes.front().took_us = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(Deadline::Clock::now() - started)
          .count());
  return snapshot::without_secrets(std::move(capture));
}

}  // namespace oddrank::node
