#include "node/collect/collect_dumps.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "attach/files/open_named.h"
#include "attach/proc_root.h"
#include "base/clock_us.h"
#include "base/deadline.h"
#include "base/isolated.h"
#include "base/read_file.h"
#include "collectives/flight/flight_paths.h"
#include "collectives/flight/read_flight_record.h"
#include "collectives/flight/shorten_record.h"
#include "collectives/join_flight.h"
#include "node/collect/dump_files.h"
#include "node/collect/live_dump.h"
#include "node/isolated_read.h"
#include "snapshot/carrier.h"
#include "snapshot/variable.h"

namespace oddrank::node {
namespace {

using snapshot::Capture;
using snapshot::FlightRecord;
using snapshot::ProcessCapture;
using std::chrono::milliseconds;

constexpr std::size_t kMaxFile = std::size_t{256} << 20;  // 2000 calls with stacks are 3 MB
constexpr milliseconds kDumpPatience{8000};               // for one rank: request and read
constexpr milliseconds kWorkerPatience{2000};
constexpr milliseconds kPipePatience{3000};  // until a rank has written the file

// Reads the dump of one rank, in a child.
class DumpReader {
 public:
  DumpReader(const Capture& known, const ProcessCapture& process)
      : known_(known), process_(process), deadline_(Deadline::after(kDumpPatience)) {}
  Capture run();

 private:
  std::string_view variable(std::string_view name) const;
  // Returns the path of a name that may be relative to the process's working directory.
  std::string absolute(const std::string& name) const;
  void note(std::string text) { answer_.nodes.front().notes.push_back(std::move(text)); }
  bool take(const std::string& source, std::string_view bytes, std::uint64_t written);
  // Returns false for a stopped process: it would act on the request when it is continued.
  bool may_answer() const { return process_.state == 'S' || process_.state == 'R'; }
  bool from_worker();

  struct Candidate {
    std::string path;
    UniqueFd fd;
    std::uint64_t written = 0;
  };

  // Returns the newest of the files that exist.
  Candidate newest() const;
  bool from_file();
  // Reads until the file is complete: the rank writes in place.
  void from_pipe();

  const Capture& known_;
  const ProcessCapture& process_;
  Deadline deadline_;
  Capture answer_;
};

Capture DumpReader::run() {
  answer_.nodes.emplace_back();
  if (!from_worker() && !from_file()) {
    from_pipe();
  }
  return std::move(answer_);
}

std::string_view DumpReader::variable(std::string_view name) const {
  return snapshot::variable_of(known_.tables, process_, name).value_or(std::string_view());
}

std::string DumpReader::absolute(const std::string& name) const {
  if (name.starts_with('/')) {
    return name;
  }
  const auto folder = attach::read_process_link(process_.pid, "cwd");
  return folder ? *folder + "/" + name : "/" + name;
}

bool DumpReader::take(const std::string& source, std::string_view bytes, std::uint64_t written) {
  snapshot::Tables texts;
  auto record = collectives::read_flight_record(source, bytes, texts);
  if (!record) {
    note("the dump of rank " + std::to_string(process_.rank) + ", " + source + ": " +
         record.error().what);
    return false;
  }
  record->rank = process_.rank;
  record->pid = process_.pid;
  record->written_us = written;
  collectives::shorten_record(*record, texts, collectives::flight_entry_limit(process_.world_size));
  snapshot::Carrier carrier(texts, answer_.tables);
  answer_.collectives.flight = {carrier.row(*record)};
  return true;
}

bool DumpReader::from_worker() {
  const std::string socket(variable("TORCH_WORKER_SERVER_SOCKET"));
  if (socket.empty() || !may_answer()) {
    return false;
  }
  // NCCL's recorders come first: gloo's exists as well, and is mostly empty. From torch 2.15 on, a
  // handler creates the recorder of the backend in the query, so nccl2's comes last if it is not
  // known to be in use; earlier versions ignore the query.
  const bool has_nccl = std::any_of(
      process_.groups.begin(), process_.groups.end(), [this](const snapshot::ProcessGroup& group) {
        return known_.tables.text(group.backend).find("nccl") != std::string_view::npos;
      });
  constexpr const char* kSecond = "fr_trace_json?backend=nccl2";
  constexpr const char* kGloo = "fr_trace_json";
  for (const char* handler :
       {"dump_nccl_trace_json", has_nccl ? kSecond : kGloo, has_nccl ? kGloo : kSecond}) {
    if (handler == kSecond && !has_nccl && !process_.groups.empty()) {
      continue;  // it is not in use
    }
    const auto body =
        ask_worker(process_.pid, absolute(socket), handler, deadline_.at_most(kWorkerPatience));
    if (!body && body.error().code == Errc::kNotFound) {
      continue;
    }
    if (!body) {
      note("rank " + std::to_string(process_.rank) + ": " + body.error().what);
      return false;
    }
    if (take(socket, *body, clock_us(CLOCK_REALTIME)) &&
        !answer_.collectives.flight.front().entries.empty()) {
      return true;
    }
  }
  answer_.collectives.flight.clear();
  return false;
}

DumpReader::Candidate DumpReader::newest() const {
  Candidate best;
  const auto files = attach::NamedFiles::of(process_.pid);
  if (!files) {
    return best;
  }
  const auto get = [this](std::string_view name) { return variable(name); };
  for (const std::string& name : collectives::flight_paths(get, process_.rank)) {
    const std::string path = absolute(name);
    auto fd = files->open(path);
    if (!fd) {
      continue;
    }
    const std::uint64_t written = written_us(*fd);
    if (!best.fd.valid() || written > best.written) {
      best = {path, std::move(*fd), written};
    }
  }
  return best;
}

bool DumpReader::from_file() {
  const Candidate found = newest();
  if (!found.fd.valid()) {
    return false;
  }
  // Clocks of file servers differ a little.
  constexpr std::uint64_t kSkewUs = 2'000'000;
  if (found.written + kSkewUs < realtime_at(process_.start_us)) {
    note(found.path + " is older than rank " + std::to_string(process_.rank) +
         ": it was left by another run, and is not used");
    return false;
  }
  const auto bytes = read_all(found.fd.get(), found.path, kMaxFile);
  return bytes && take(found.path, *bytes, found.written);
}

void DumpReader::from_pipe() {
  const auto get = [this](std::string_view name) { return variable(name); };
  const auto pipes = collectives::flight_pipes(get, process_.rank);
  const std::uint64_t before = newest().written;
  const bool poked =
      may_answer() && std::any_of(pipes.begin(), pipes.end(), [this](const std::string& name) {
        return poke_pipe(process_.pid, absolute(name)).has_value();
      });
  const Deadline deadline = deadline_.at_most(kPipePatience);
  while (poked && !deadline.passed()) {
    ::usleep(50'000);
    answer_.nodes.front().notes.clear();  // of the previous file, or of this one's first half
    if (newest().written > before && from_file() && !answer_.collectives.flight.front().cut) {
      return;
    }
  }
}

// Reads all requested files, in the child.
Capture read_given(const std::vector<std::string>& patterns,
                   const std::set<std::int32_t>& wanted,
                   const std::set<std::int32_t>& there,
                   bool all) {
  Capture answer;
  answer.nodes.emplace_back();
  const std::vector<std::string> files = expand_files(patterns);
  for (const std::string& file : files) {
    const std::int32_t rank = collectives::rank_in_name(file);
    if (there.contains(rank) || (!all && !wanted.contains(rank))) {
      continue;
    }
    const auto found = read_found_file(file, kMaxFile);
    snapshot::Tables texts;
    auto record = found ? collectives::read_flight_record(file, found->bytes, texts)
                        : Result<FlightRecord>(fail(found.error()));
    if (!record) {
      answer.nodes.front().notes.push_back(file + ": " + record.error().what);
      continue;
    }
    record->written_us = found->written_us;
    collectives::shorten_record(
        *record, texts, collectives::flight_entry_limit(static_cast<std::int32_t>(files.size())));
    snapshot::Carrier carrier(texts, answer.tables);
    answer.collectives.flight.push_back(carrier.row(*record));
  }
  return answer;
}

// Returns whether the rank's calls were read from its memory: then a dump adds nothing.
bool is_in_memory(const Capture& capture, const ProcessCapture& process) {
  const auto& all = capture.collectives.flight;
  return std::any_of(all.begin(), all.end(), [&process](const FlightRecord& record) {
    return record.from_memory && record.pid == process.pid;
  });
}

}  // namespace

void take_over_records(const Capture& from, std::uint32_t node, Capture& capture) {
  snapshot::Carrier carrier(from.tables, capture.tables);
  for (const FlightRecord& record : from.collectives.flight) {
    FlightRecord carried = carrier.row(record);
    carried.node = node;
    capture.collectives.flight.push_back(std::move(carried));
  }
  auto& notes = capture.nodes[node].notes;
  for (const auto& answer : from.nodes) {
    notes.insert(notes.end(), answer.notes.begin(), answer.notes.end());
  }
}

void collect_dumps(Capture& capture, milliseconds timeout) {
  std::vector<IsolatedTask> tasks;
  std::vector<const ProcessCapture*> ranks;
  for (const ProcessCapture& process : capture.processes) {
    if (process.is_rank && process.rank >= 0 && process.state != 'Z' &&
        !is_in_memory(capture, process)) {
      ranks.push_back(&process);
      tasks.push_back(
          {[&capture, &process](int fd) { send_capture(fd, DumpReader(capture, process).run()); },
           std::min(timeout, kDumpPatience + milliseconds(1000)),
           {.sockets = true, .files = true},
           reading_owner(process.pid)});
    }
  }
  const std::vector<IsolatedResult> results =
      run_isolated(tasks, readers_at_once(), kMaxOutput, timeout);
  note_no_time(results, "the dumps", capture.nodes.front().notes);
  for (std::size_t at = 0; at < results.size(); ++at) {
    const std::uint32_t node = ranks[at]->node;
    const std::int32_t rank = ranks[at]->rank;
    const auto answer = received_capture(results[at]);
    if (answer) {
      take_over_records(*answer, node, capture);
    } else if (results[at].end != IsolatedEnd::kNoTime) {
      capture.nodes[node].notes.push_back("the dump of rank " + std::to_string(rank) +
                                          " could not be read: " + answer.error().what);
    }
  }
}

void add_given_dumps(Capture& capture,
                     const std::vector<std::string>& patterns,
                     bool all,
                     milliseconds timeout) {
  if (patterns.empty() || capture.nodes.empty()) {
    return;
  }
  std::set<std::int32_t> wanted;
  std::set<std::int32_t> there;
  for (const ProcessCapture& process : capture.processes) {
    wanted.insert(process.rank);
  }
  for (const FlightRecord& record : capture.collectives.flight) {
    there.insert(record.rank);
  }
  const IsolatedTask task{
      [&](int fd) { send_capture(fd, read_given(patterns, wanted, there, all)); }, timeout};
  const auto answer = received_capture(run_isolated({task}, 1, std::size_t{512} << 20).front());
  if (answer) {
    take_over_records(*answer, 0, capture);
  } else {
    capture.job.notes.push_back("the dumps of --fr could not be read: " + answer.error().what);
  }
  collectives::join_flight(capture);
}

}  // namespace oddrank::node
