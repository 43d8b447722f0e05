#include "node/collect/collect_log.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "attach/files/open_named.h"
#include "attach/files/open_path.h"
#include "attach/proc_root.h"
#include "base/isolated.h"
#include "base/printable.h"
#include "base/read_file.h"
#include "base/unique_fd.h"
#include "collectives/around/log_lines.h"
#include "node/isolated_read.h"
#include "snapshot/carrier.h"

namespace oddrank::node {
namespace {

using snapshot::Capture;
using snapshot::ProcessCapture;

constexpr std::size_t kMaxEnd = std::size_t{4} << 20;        // of each file
constexpr std::size_t kMaxAllEnds = std::size_t{256} << 20;  // of all, which share it
constexpr std::size_t kMaxFiles = 1024;

// Read in the child: reading a file of the target may block.
struct LogFile {
  UniqueFd fd;
  std::string path;
  std::int32_t rank = -1;  // the only one that writes to it; -1: several
};

struct LogFiles {
  std::map<std::pair<dev_t, ino_t>, LogFile> open;
  std::set<std::pair<dev_t, ino_t>> others;  // beyond the limit
};

void add_file(Result<UniqueFd> fd, const std::string& path, std::int32_t rank, LogFiles& files) {
  struct stat info {};
  if (!fd || ::fstat(fd->get(), &info) != 0) {
    return;
  }
  const std::pair id(info.st_dev, info.st_ino);
  if (files.open.size() >= kMaxFiles && !files.open.contains(id)) {
    files.others.insert(id);
    return;
  }
  const auto [at, fresh] = files.open.try_emplace(id);
  if (fresh) {
    at->second.fd = std::move(*fd);
    at->second.path = path;
    at->second.rank = rank;
  } else if (at->second.rank != rank) {
    at->second.rank = -1;
  }
}

Capture read_files(const LogFiles& files) {
  Capture answer;
  answer.nodes.emplace_back();
  if (!files.others.empty()) {
    answer.nodes.front().notes.push_back(
        count_of(files.others.size(), "output") + " of " +
        std::to_string(files.open.size() + files.others.size()) +
        (files.others.size() == 1 ? " of the ranks was not read" : " of the ranks were not read"));
  }
  const std::size_t each =
      std::min(kMaxEnd, kMaxAllEnds / std::max<std::size_t>(1, files.open.size()));
  std::size_t left_out = 0;
  for (const auto& [id, file] : files.open) {
    auto read =
        collectives::read_log_lines(read_end(file.fd.get(), each), file.rank, answer.tables);
    left_out += read.left_out;
    for (snapshot::LogLine& line : read.lines) {
      line.source = answer.tables.string(file.path);
      answer.collectives.log.push_back(std::move(line));
    }
  }
  if (left_out > 0) {
    answer.nodes.front().notes.push_back(
        count_of(left_out, "older line") +
        " about calls and communicators left out: of each file, the last " +
        std::to_string(collectives::kMaxLinesOfKind) + " of a kind are kept");
  }
  return answer;
}

Capture read_outputs(const Capture& capture) {
  LogFiles files;
  for (const ProcessCapture& process : capture.processes) {
    if (!process.is_rank || process.state == 'Z') {
      continue;
    }
    for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
      const std::string name = "fd/" + std::to_string(fd);
      add_file(attach::open_descriptor(process.pid, fd),
               attach::read_process_link(process.pid, name).value_or(name), process.rank, files);
    }
  }
  return read_files(files);
}

void take_over_log(const Result<Capture>& answer, Capture& capture) {
  if (!answer) {
    capture.job.notes.push_back("the job's output: " + answer.error().what);
    return;
  }
  snapshot::Carrier carrier(answer->tables, capture.tables);
  for (const snapshot::LogLine& line : answer->collectives.log) {
    capture.collectives.log.push_back(carrier.row(line));
  }
  for (const std::string& note : answer->nodes.front().notes) {
    capture.job.notes.push_back("the job's output: " + note);
  }
}

}  // namespace

void collect_log(Capture& capture, std::chrono::milliseconds timeout) {
  const IsolatedTask task{[&capture](int fd) { send_capture(fd, read_outputs(capture)); }, timeout};
  take_over_log(received_capture(run_isolated({task}, 1).front()), capture);
}

void collect_job_output(Capture& capture, std::chrono::milliseconds timeout) {
  const std::string& path = capture.job.output_path;
  const auto& log = capture.collectives.log;
  const bool known = std::any_of(log.begin(), log.end(), [&](const snapshot::LogLine& line) {
    return capture.tables.text(line.source) == path;
  });
  if (path.empty() || known || capture.nodes.empty()) {
    return;
  }
  const IsolatedTask task{[&path](int fd) {
                            LogFiles files;
                            add_file(attach::open_found_file(path), path, -1, files);
                            send_capture(fd, read_files(files));
                          },
                          timeout};
  take_over_log(received_capture(run_isolated({task}, 1).front()), capture);
}

}  // namespace oddrank::node
