#include "node/collect/collect_step_tasks.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/deadline.h"
#include "base/isolated.h"
#include "base/parse_number.h"
#include "base/read_file.h"
#include "base/split.h"
#include "base/unique_fd.h"
#include "node/isolated_read.h"
#include "ranks/slurm/slurm_step.h"
#include "snapshot/variable.h"

namespace oddrank::node {
namespace {

using snapshot::Capture;
using snapshot::ProcessCapture;
using std::chrono::milliseconds;

constexpr milliseconds kStepPatience{2000};
constexpr std::size_t kMaxSocketTable = std::size_t{8} << 20;
constexpr std::size_t kMaxDaemonName = 64;

// The ranks that the launcher put here and that have no process.
std::set<std::int32_t> ranks_without_process(const Capture& capture) {
  const auto& expected = capture.nodes.front().expected_ranks;
  std::set<std::int32_t> missing(expected.begin(), expected.end());
  for (const ProcessCapture& process : capture.processes) {
    if (process.is_rank) {
      missing.erase(process.rank);
    }
  }
  return missing;
}

// Returns "4711.0", the step whose tasks the ranks of this node are; "" if they belong to several
// steps, or are no tasks, as below torchrun.
std::string step_of_ranks(const Capture& capture) {
  constexpr std::string_view kOfSlurm = "slurm ";
  std::set<std::string_view> steps;
  for (const ProcessCapture& process : capture.processes) {
    if (!process.is_rank || process.rank < 0) {
      continue;
    }
    const std::string_view key = capture.tables.text(process.job_key);
    const auto task = snapshot::variable_of(capture.tables, process, "SLURM_PROCID");
    if (!key.starts_with(kOfSlurm) ||
        parse_number<std::int32_t>(task.value_or("")) != process.rank) {
      return {};
    }
    // "slurm 4711.0 of user 1001" is a step, too.
    const std::string_view step = key.substr(kOfSlurm.size());
    steps.insert(step.substr(0, step.find(' ')));
  }
  return steps.size() == 1 ? std::string(*steps.begin()) : std::string();
}

Result<UniqueFd> connect_to_step(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    return fail(Errc::kNotFound, "no slurmstepd of the step listens here");
  }
  std::memcpy(address.sun_path, path.c_str(), path.size());
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const auto* target = reinterpret_cast<const sockaddr*>(&address);
  if (!fd.valid() || ::connect(fd.get(), target, sizeof address) != 0) {
    return fail(errno_code(errno), "cannot connect to " + path + ": " + errno_text(errno));
  }
  // Any user may listen under that name; these are the listening process's.
  ucred peer{};
  socklen_t size = sizeof peer;
  const bool known =
      ::getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.pid > 0;
  const auto name = read_file("/proc/" + std::to_string(peer.pid) + "/comm", kMaxDaemonName);
  if (!known || (peer.uid != 0 && peer.uid != ::geteuid()) || !name ||
      trim(*name) != "slurmstepd") {
    return fail(Errc::kPermission, path + " is not a slurmstepd's");
  }
  return fd;
}

Status send_number(const UniqueFd& fd, std::int32_t number) {
  if (::send(fd.get(), &number, sizeof number, MSG_NOSIGNAL) != sizeof number) {
    return fail(Errc::kIo, "cannot ask slurmstepd");
  }
  return ok();
}

Result<std::string> receive(const UniqueFd& fd, std::size_t size, const Deadline& deadline) {
  std::string bytes(size, '\0');
  std::size_t got = 0;
  while (got < size) {
    pollfd one{fd.get(), POLLIN, 0};
    if (::poll(&one, 1, deadline.poll_timeout()) <= 0) {
      return fail(Errc::kTimeout, "slurmstepd does not answer");
    }
    const auto more = ::recv(fd.get(), bytes.data() + got, size - got, 0);
    if (more <= 0) {
      return fail(Errc::kIo, "slurmstepd ends the connection");
    }
    got += static_cast<std::size_t>(more);
  }
  return bytes;
}

Result<std::uint32_t> receive_number(const UniqueFd& fd, const Deadline& deadline) {
  ODDRANK_TRY(const std::string bytes, receive(fd, sizeof(std::uint32_t), deadline));
  std::uint32_t number = 0;
  std::memcpy(&number, bytes.data(), sizeof number);
  return number;
}

Result<std::vector<ranks::EndedTask>> ask_step(const std::string& step) {
  const Deadline deadline = Deadline::after(kStepPatience);
  ODDRANK_TRY(const std::string table, read_file("/proc/net/unix", kMaxSocketTable));
  ODDRANK_TRY(const UniqueFd fd, connect_to_step(ranks::step_socket(table, step)));
  ODDRANK_TRY_STATUS(send_number(fd, ranks::kStepProtocol));
  ODDRANK_TRY(const std::uint32_t version, receive_number(fd, deadline));
  if (version < ranks::kOldestProtocol || version > ranks::kStepProtocol) {
    return fail(Errc::kUnsupported, "slurmstepd has protocol " + std::to_string(version));
  }
  ODDRANK_TRY_STATUS(send_number(fd, ranks::kTaskInfoRequest));
  ODDRANK_TRY(const std::uint32_t count, receive_number(fd, deadline));
  if (count == 0 || count > ranks::kMaxStepTasks) {
    return fail(Errc::kBadData, "slurmstepd has " + std::to_string(count) + " tasks");
  }
  ODDRANK_TRY(const std::string tasks, receive(fd, count * ranks::kStepTaskSize, deadline));
  return ranks::parse_step_tasks(tasks);
}

// Runs in the child.
Result<Capture> ended_tasks(const std::string& step) {
  ODDRANK_TRY(const auto tasks, ask_step(step));
  Capture answer;
  answer.nodes.emplace_back();
  for (const ranks::EndedTask& task : tasks) {
    answer.collectives.log.push_back({.kind = snapshot::LogKind::kTaskStatus,
                                      .rank = task.task,
                                      .sequence = task.status,
                                      .behind = {task.task}});
  }
  return answer;
}

}  // namespace

void collect_step_tasks(Capture& capture, milliseconds timeout) {
  const std::set<std::int32_t> missing = ranks_without_process(capture);
  const std::string step = missing.empty() ? std::string() : step_of_ranks(capture);
  if (step.empty()) {
    return;
  }
  const IsolatedTask task{[&step](int fd) { send_capture(fd, ended_tasks(step)); },
                          std::min(timeout, kStepPatience),
                          {.sockets = true}};
  const auto answer = received_capture(run_isolated({task}, 1).front());
  if (!answer) {
    return;
  }
  for (snapshot::LogLine line : answer->collectives.log) {
    if (line.kind == snapshot::LogKind::kTaskStatus && missing.contains(line.rank)) {
      line.text = line.op = line.source = {};
      capture.collectives.log.push_back(std::move(line));
    }
  }
}

}  // namespace oddrank::node
