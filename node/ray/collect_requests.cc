#include "node/ray/collect_requests.h"

#include <sys/stat.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attach/files/open_named.h"
#include "attach/proc_fds.h"
#include "base/clock_us.h"
#include "base/isolated.h"
#include "base/read_file.h"
#include "collectives/around/ray_status.h"
#include "node/isolated_read.h"
#include "snapshot/carrier.h"

namespace oddrank::node {
namespace {

using snapshot::Capture;
using snapshot::ProcessCapture;

constexpr std::size_t kMaxStatusBytes = std::size_t{256} << 10;  // ten minutes of it
constexpr std::size_t kMaxStateBytes = std::size_t{1} << 20;
constexpr std::size_t kMaxSessionFds = 4096;  // that are looked at
constexpr std::int64_t kOldStatusMs = 60'000;

bool runs_ray(const Capture& capture, const ProcessCapture& process) {
  const snapshot::Tables& tables = capture.tables;
  return std::any_of(process.threads.begin(), process.threads.end(), [&](const auto& thread) {
    if (!thread.has_python || thread.samples.empty()) {
      return false;
    }
    const auto& sample = thread.samples.back();
    const auto is_of_ray = [&](snapshot::StackId id) {
      return tables.stacks().contains(id) &&
             std::ranges::any_of(tables.stack(id).frames, [&](snapshot::FrameId frame) {
               return tables.frame(frame).kind == snapshot::FrameKind::kPython &&
                      tables.text(tables.frame(frame).file).find("/ray/") != std::string::npos;
             });
    };
    return is_of_ray(sample.stack) || is_of_ray(sample.python_stack);
  });
}

// Returns the folder of its session's logs: "/tmp/ray/session_.../logs"; "" if it has none.
std::string logs_of(pid_t pid) {
  const auto fds = attach::read_fds(pid, kMaxSessionFds);
  if (fds) {
    for (const attach::OpenFd& fd : *fds) {
      // Each driver and worker logs there.
      const auto at = fd.link.find("/logs/python-core-");
      if (fd.kind == attach::FdKind::kFile && at != std::string::npos) {
        return fd.link.substr(0, at + 5);
      }
    }
  }
  return {};
}

struct FileEnd {
  std::string text;
  std::int64_t age_ms = 0;
};

std::optional<FileEnd> end_of_file(const attach::NamedFiles& files, const std::string& path) {
  const auto fd = files.open(path);
  struct stat info {};
  if (!fd || ::fstat(fd->get(), &info) != 0) {
    return std::nullopt;
  }
  const auto now = static_cast<std::int64_t>(clock_us(CLOCK_REALTIME) / 1000);
  return FileEnd{read_end(fd->get(), kMaxStatusBytes),
                 std::max<std::int64_t>(0, now - static_cast<std::int64_t>(info.st_mtime) * 1000)};
}

std::string_view class_part(std::string_view name) {
  return name.substr(0, name.find('.'));
}

// Returns whether the number means this process here, too: in its container it may be another.
bool is_holder(const Capture& capture,
               const collectives::ResourceHold& hold,
               const ProcessCapture& process) {
  return process.pid == hold.pid &&
         class_part(capture.tables.text(process.label)) == class_part(hold.name);
}

// Runs in the child: reading a file of the target may block.
Capture read_session(const Capture& capture) {
  Capture answer;
  answer.nodes.emplace_back();
  std::set<std::string> sessions;
  pid_t reader = 0;
  for (const ProcessCapture& process : capture.processes) {
    if (process.state != 'Z' && runs_ray(capture, process)) {
      const std::string logs = logs_of(process.pid);
      reader = logs.empty() ? reader : process.pid;
      sessions.insert(logs);
    }
  }
  sessions.erase("");
  const auto files = attach::NamedFiles::of(reader);
  if (sessions.size() != 1 || !files) {
    return answer;
  }
  const std::string path = *sessions.begin() + "/monitor.log";
  const auto status = end_of_file(*files, path);
  if (!status || status->age_ms > kOldStatusMs) {
    return answer;
  }
  const auto state = files->read(*sessions.begin() + "/debug_state.txt", kMaxStateBytes);
  const auto holds = collectives::read_holds(state ? *state : std::string());
  for (auto& request : collectives::read_requests(status->text, answer.tables)) {
    request.said_ms = status->age_ms;
    request.source = answer.tables.string(path);
    for (const collectives::ResourceHold& hold : holds) {
      const bool here = std::ranges::any_of(capture.processes, [&](const auto& process) {
        return is_holder(capture, hold, process);
      });
      if (here && collectives::has_some_of(hold, answer.tables.text(request.lacks))) {
        request.holders.push_back(hold.pid);
      }
    }
    answer.collectives.requests.push_back(std::move(request));
  }
  return answer;
}

}  // namespace

void collect_requests(Capture& capture, std::chrono::milliseconds timeout) {
  const bool any = std::ranges::any_of(
      capture.processes, [&](const auto& process) { return runs_ray(capture, process); });
  if (!any) {
    return;
  }
  const IsolatedTask task{[&capture](int fd) { send_capture(fd, read_session(capture)); }, timeout};
  const auto answer = received_capture(run_isolated({task}, 1).front());
  if (!answer) {
    capture.nodes.front().notes.push_back("Ray's requests for resources: " + answer.error().what);
    return;
  }
  snapshot::Carrier carrier(answer->tables, capture.tables);
  for (const snapshot::ResourceRequest& request : answer->collectives.requests) {
    capture.collectives.requests.push_back(carrier.row(request));
  }
}

}  // namespace oddrank::node
