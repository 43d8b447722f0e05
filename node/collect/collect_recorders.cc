#include "node/collect/collect_recorders.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attach/live_target.h"
#include "base/clock_us.h"
#include "base/isolated.h"
#include "base/parse_number.h"
#include "cpython/python_process.h"
#include "elf/module_map.h"
#include "node/collect/collect_dumps.h"
#include "node/collect/read_recorders.h"
#include "node/isolated_read.h"
#include "snapshot/carrier.h"

namespace oddrank::node {
namespace {

using snapshot::Capture;
using snapshot::FlightRecord;
using snapshot::ProcessCapture;
using std::chrono::milliseconds;

// Reading takes milliseconds, but may never end for a process in state D.
constexpr milliseconds kRecorderPatience{3000};

// Reads one rank, in the child.
Capture read_recorders_of(const Capture& known,
                          const ProcessCapture& process,
                          const RecordersWanted& wanted) {
  Capture answer;
  answer.nodes.emplace_back();
  const auto target = attach::LiveTarget::open(process.pid);
  if (!target) {
    return answer;  // the rank's own reader says why
  }
  snapshot::Carrier carrier(known.tables, answer.tables);
  ProcessCapture row = process;
  row.threads.clear();
  row = carrier.row(std::move(row));
  elf::ModuleMap modules(**target);
  const auto python = cpython::PythonProcess::find(**target, modules);
  std::optional<cpython::PythonMemory> memory;
  if (python) {
    memory.emplace(python->memory());
  }
  auto record =
      read_recorders(**target, modules, memory ? &*memory : nullptr, row, wanted, answer.tables);
  if (record) {
    record->written_us = clock_us(CLOCK_REALTIME);
    answer.collectives.flight.push_back(*std::move(record));
  } else if (record.error().code != Errc::kNotFound) {
    answer.nodes.front().notes.push_back("the memory of rank " + std::to_string(process.rank) +
                                         ": " + record.error().what);
  }
  return answer;
}

// Returns when a call was last made, or last seen to start or end, in nanoseconds; 0 if no call was
// recorded.
std::int64_t newest_event_ns(const Capture& answer) {
  std::int64_t newest = 0;
  for (const FlightRecord& record : answer.collectives.flight) {
    for (const snapshot::FlightEntry& entry : record.entries) {
      newest = std::max({newest, entry.created_ns, entry.started_ns, entry.completed_ns});
    }
  }
  return newest;
}

bool may_have_recorders(const ProcessCapture& process) {
  return process.is_rank && process.rank >= 0 && process.state != 'Z' && !process.groups.empty();
}

struct Answers {
  std::vector<std::size_t> indices;     // into Capture::processes
  std::vector<IsolatedResult> results;  // of the same ranks
};

// Reads the recorders of each rank in a child, which sends the part that `send` chooses.
Answers ask_ranks(const Capture& capture,
                  const RecordersWanted& wanted,
                  milliseconds timeout,
                  const std::function<void(int fd, Capture answer)>& send) {
  Answers answers;
  std::vector<IsolatedTask> tasks;
  for (std::size_t at = 0; at < capture.processes.size(); ++at) {
    const ProcessCapture& process = capture.processes[at];
    if (!may_have_recorders(process)) {
      continue;
    }
    answers.indices.push_back(at);
    tasks.push_back({[&capture, &process, &wanted, &send](int fd) {
                       send(fd, read_recorders_of(capture, process, wanted));
                     },
                     std::min(timeout, kRecorderPatience),
                     {},
                     reading_owner(process.pid)});
  }
  answers.results = run_isolated(tasks, readers_at_once(), kMaxOutput, timeout);
  return answers;
}

}  // namespace

RecorderSearch::RecorderSearch(const Capture& capture, milliseconds timeout) {
  const auto& all = capture.processes;
  const auto first = std::find_if(all.begin(), all.end(), may_have_recorders);
  left_ = first != all.end() && std::none_of(std::next(first), all.end(), may_have_recorders);
  if (first == all.end() || left_) {
    return;
  }
  search_.emplace(IsolatedTask{[first](int fd) {
                                 if (const auto target = attach::LiveTarget::open(first->pid)) {
                                   elf::ModuleMap modules(**target);
                                   send_bytes(fd,
                                              encode_variables(find_recorder_variables(modules)));
                                 }
                               },
                               std::min(timeout, kRecorderPatience)});
}

const std::string& RecorderSearch::found() {
  if (search_) {
    found_ = search_->finish().bytes;
    search_.reset();
  }
  return found_;
}

std::vector<milliseconds> ages_of_newest_events(const Capture& capture,
                                                RecorderSearch& search,
                                                milliseconds timeout) {
  std::vector<milliseconds> ages(capture.processes.size(), milliseconds(-1));
  const RecordersWanted wanted{0, decode_variables(search.found())};
  const auto [indices, results] = ask_ranks(capture, wanted, timeout, [](int fd, Capture answer) {
    send_bytes(fd, std::to_string(newest_event_ns(answer)));
  });
  const auto now_ns = static_cast<std::int64_t>(clock_us(CLOCK_REALTIME)) * 1000;
  for (std::size_t at = 0; at < results.size(); ++at) {
    const auto event_ns = parse_number<std::int64_t>(results[at].bytes);
    if (results[at].end == IsolatedEnd::kFinished && event_ns && *event_ns > 0 &&
        *event_ns <= now_ns) {
      ages[indices[at]] = milliseconds((now_ns - *event_ns) / 1'000'000);
    }
  }
  return ages;
}

void collect_recorders(Capture& capture,
                       RecorderSearch& search,
                       std::size_t newest,
                       milliseconds timeout) {
  const RecordersWanted wanted{newest, decode_variables(search.found())};
  const auto [indices, results] = ask_ranks(capture, wanted, timeout, [](int fd, Capture answer) {
    send_capture(fd, std::move(answer));
  });
  note_no_time(results, "the recorders", capture.nodes.front().notes);
  for (std::size_t at = 0; at < results.size(); ++at) {
    const auto answer = received_capture(results[at]);
    if (answer) {
      take_over_records(*answer, capture.processes[indices[at]].node, capture);
    }
  }
}

}  // namespace oddrank::node
