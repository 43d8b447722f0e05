#include "cli/collect_ras.h"

#include <fcntl.h>
#include <ifaddrs.h>
#include <sched.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>

#include "attach/proc_fds.h"
#include "attach/proc_status.h"
#include "base/deadline.h"
#include "base/isolated.h"
#include "base/parse_number.h"
#include "base/read_file.h"
#include "base/split.h"
#include "base/unique_fd.h"
#include "cli/isolated_read.h"
#include "collectives/ras_answer.h"
#include "collectives/ras_client.h"
#include "snapshot/carrier.h"
#include "waits/socket_table.h"

namespace oddrank::cli {
namespace {

using collectives::RasAnswer;
using collectives::RasGroup;
using collectives::RasMember;
using snapshot::Capture;
using snapshot::ProcessCapture;
using snapshot::RasCommunicator;
using snapshot::RasRank;
using std::chrono::milliseconds;

constexpr std::uint16_t kDefaultPort = 28028;
constexpr milliseconds kPatience{12000};  // the service itself gives up after ten seconds
constexpr int kMostAnswers = 3;           // where two jobs share the port
// Every answer is of the whole job: in a large one, not every node asks.
constexpr std::int32_t kLargeJob = 512;
// Versions before, 1000 * major + minor, have crashed jobs that were asked again and again.
constexpr int kSafe = 2028;

std::string_view variable(const Capture& capture,
                          const ProcessCapture& process,
                          std::string_view name) {
  for (const auto& [key, value] : process.environment) {
    if (capture.tables.text(key) == name) {
      return capture.tables.text(value);
    }
  }
  return {};
}

// "NAME=value" of a file of NCCL's parameters; lines that begin with '#' are comments.
std::string parameter(std::string_view text, std::string_view name) {
  for (const std::string_view raw : split(text, '\n')) {
    const std::string_view line = trim(raw);
    if (line.starts_with(name) && line.substr(name.size()).starts_with('=')) {
      return std::string(trim(line.substr(name.size() + 1)));
    }
  }
  return {};
}

// The environment counts more than the user's file, and that more than the machine's.
std::string nccl_parameter(const Capture& capture,
                           const ProcessCapture& process,
                           std::string_view name) {
  std::string value(variable(capture, process, name));
  const std::string root = "/proc/" + std::to_string(process.pid) + "/root";
  const std::string home(variable(capture, process, "HOME"));
  for (const std::string& path : {home + "/.nccl.conf", std::string("/etc/nccl.conf")}) {
    constexpr std::size_t kMostText = 65536;
    if (value.empty() && path.front() == '/') {
      const auto text = read_file(root + path, kMostText);
      value = text ? parameter(*text, name) : std::string();
    }
  }
  return value;
}

std::optional<std::uint16_t> ras_port(const Capture& capture, const ProcessCapture& process) {
  if (nccl_parameter(capture, process, "NCCL_RAS_ENABLE") == "0") {
    return std::nullopt;
  }
  const std::string address = nccl_parameter(capture, process, "NCCL_RAS_ADDR");
  const auto colon = address.rfind(':');
  return address.empty() || colon == std::string::npos
             ? std::optional(kDefaultPort)
             : parse_number<std::uint16_t>(std::string_view(address).substr(colon + 1));
}

// The address of a socket on which the process itself listens at that port.
std::optional<std::string> listening(pid_t pid, std::uint16_t port) {
  const auto fds = attach::read_fds(pid);
  if (!fds) {
    return std::nullopt;
  }
  waits::SocketTable table;
  for (const char* file : {"/net/tcp", "/net/tcp6"}) {
    if (const auto text = read_file("/proc/" + std::to_string(pid) + file)) {
      table.add(*text);
    }
  }
  const std::string suffix = ":" + std::to_string(port);
  for (const attach::OpenFd& fd : *fds) {
    const auto* row = fd.kind == attach::FdKind::kSocket ? table.by_inode(fd.inode) : nullptr;
    if (row == nullptr || !row->local.ends_with(suffix) ||
        row->state != static_cast<std::uint8_t>(waits::SocketState::kListen)) {
      continue;
    }
    if (row->local.starts_with("0.0.0.0:")) {
      return "127.0.0.1" + suffix;
    }
    return row->local.starts_with("[::]:") ? "[::1]" + suffix : row->local;
  }
  return std::nullopt;
}

// Ranks of one network namespace that listen at one address.
struct Service {
  std::string network;  // link of /proc/PID/ns/net
  std::string address;
  std::vector<const ProcessCapture*> ranks;
};

std::vector<Service> find_services(const Capture& capture) {
  std::map<std::pair<std::string, std::string>, Service> services;
  for (const ProcessCapture& process : capture.processes) {
    const auto port = process.is_rank && process.rank >= 0 && process.state != 'Z'
                          ? ras_port(capture, process)
                          : std::nullopt;
    const auto address = port ? listening(process.pid, *port) : std::nullopt;
    const auto network = read_link("/proc/" + std::to_string(process.pid) + "/ns/net");
    if (!address || !network) {
      continue;
    }
    Service& service = services[{*network, *address}];
    service.network = *network;
    service.address = *address;
    service.ranks.push_back(&process);
  }
  std::vector<Service> list;
  list.reserve(services.size());
  for (auto& entry : services) {
    list.push_back(std::move(entry.second));
  }
  return list;
}

// Addresses of this machine, in the network namespace that we are in.
std::set<std::string> own_addresses() {
  std::set<std::string> addresses;
  ::ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) {
    return addresses;
  }
  for (const ::ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr) {
      continue;
    }
    std::array<char, INET6_ADDRSTRLEN> name{};
    const int family = one->ifa_addr->sa_family;
    const void* bytes =
        family == AF_INET ? static_cast<const void*>(
                                &reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr)
        : family == AF_INET6 ? static_cast<const void*>(
                                   &reinterpret_cast<const sockaddr_in6*>(one->ifa_addr)->sin6_addr)
                             : nullptr;
    if (bytes != nullptr && ::inet_ntop(family, bytes, name.data(), name.size()) != nullptr) {
      addresses.insert(name.data());
    }
  }
  ::freeifaddrs(all);
  return addresses;
}

bool is_large_and_not_asking(const Capture& capture) {
  std::int32_t world = -1;
  bool asks = false;
  for (const ProcessCapture& process : capture.processes) {
    world = std::max(world, process.world_size);
  }
  for (const ProcessCapture& process : capture.processes) {
    asks = asks ||
           (process.is_rank && process.rank >= 0 && process.rank % std::max(world / 4, 1) == 0);
  }
  return world > kLargeJob && !asks;
}

// In the child: one service, asked until each of its ranks is in an answer.
class Questioner {
 public:
  Questioner(const Service& service, Capture& answer) : service_(service), answer_(answer) {
    for (const ProcessCapture* process : service.ranks) {
      const auto status = attach::read_proc_status(process->pid);
      if (status && !status->ns_pids.empty()) {
        const auto [at, fresh] = by_told_pid_.emplace(status->ns_pids.back(), process->pid);
        at->second = fresh ? process->pid : 0;  // two containers: it cannot be told which
      }
    }
  }

  Status run() {
    ODDRANK_TRY_STATUS(enter_network());
    own_ = own_addresses();
    const Deadline deadline = Deadline::after(kPatience);
    Status last = ok();
    for (int i = 0; i < kMostAnswers && !deadline.passed() && !all_covered(); ++i) {
      last = ask_once(deadline);
      if (!last) {
        break;
      }
    }
    return seen_.empty() ? last : ok();
  }

 private:
  Status enter_network() {
    const auto own = read_link("/proc/self/ns/net");
    if (own && *own == service_.network) {
      return ok();
    }
    const std::string path = "/proc/" + std::to_string(service_.ranks.front()->pid) + "/ns/net";
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd.valid() || ::setns(fd.get(), CLONE_NEWNET) != 0) {
      return fail(Errc::kPermission,
                  "RAS listens in another network namespace, which only root "
                  "can enter");
    }
    return ok();
  }

  bool all_covered() const {
    return !seen_.empty() &&
           std::all_of(by_told_pid_.begin(), by_told_pid_.end(), [this](const auto& entry) {
             return entry.second == 0 || covered_.contains(entry.second);
           });
  }

  Status ask_once(const Deadline& deadline) {
    ODDRANK_TRY(const collectives::RasReply reply,
                collectives::ask_ras(service_.address, deadline));
    auto read = reply.json ? collectives::read_ras_json(reply.text)
                           : collectives::read_ras_text(reply.text);
    if (!read) {
      return fail(std::move(read).error().in("RAS at " + service_.address));
    }
    for (const RasGroup& group : read->groups) {
      if (seen_.insert(group.hash).second) {
        add(*read, group);
      }
    }
    if (read->groups.empty()) {
      seen_.insert("");
    }
    return ok();
  }

  void add(const RasAnswer& answer, const RasGroup& group) {
    RasCommunicator communicator;
    communicator.hash = answer_.tables.string(group.hash);
    communicator.version = answer_.tables.string(answer.version);
    communicator.size = group.size;
    for (const RasMember& member : group.members) {
      RasRank row;
      row.rank = member.rank;
      row.host = answer_.tables.string(member.host);
      row.told_pid = member.pid;
      row.device = member.device;
      row.presence = member.presence;
      row.init_state = member.init_state;
      row.async_error = member.async_error;
      row.leaving = member.leaving;
      row.counts = member.counts;
      const auto process = by_told_pid_.find(member.pid);
      if (own_.contains(member.host) && process != by_told_pid_.end()) {
        row.pid = process->second;
        covered_.insert(process->second);
      }
      const bool told_here = row.pid != 0 || member.rank < 0;
      if (told_here || member.presence != snapshot::RasPresence::kAnswered ||
          member.async_error != 0) {
        communicator.ranks.push_back(row);
      }
    }
    answer_.collectives.ras.push_back(std::move(communicator));
  }

  const Service& service_;
  Capture& answer_;
  std::map<pid_t, pid_t> by_told_pid_;  // in its own namespace -> in ours
  std::set<std::string> own_;
  std::set<std::string> seen_;  // hashes
  std::set<pid_t> covered_;
};

Capture ask_all(const Capture& capture) {
  Capture answer;
  answer.nodes.emplace_back();
  for (const Service& service : find_services(capture)) {
    if (const Status asked = Questioner(service, answer).run(); !asked) {
      answer.nodes.front().notes.push_back(asked.error().what);
    }
  }
  return answer;
}

std::optional<Capture> ask_in_child(Capture& capture, const CaptureOptions& options) {
  if (!options.ras || !options.beside || is_large_and_not_asking(capture)) {
    return std::nullopt;
  }
  const milliseconds patience = std::min(options.timeout, kPatience + milliseconds(2000));
  const IsolatedTask task{[&capture](int fd) { send_capture(fd, ask_all(capture)); }, patience};
  auto answer = received_capture(run_isolated({task}, 1).front(), patience);
  if (!answer) {
    capture.nodes.front().notes.push_back("RAS: " + answer.error().what);
    return std::nullopt;
  }
  return std::move(*answer);
}

// "2.28.9" is 2028; 0 if it cannot be read.
int version_number(std::string_view version) {
  const auto parts = split(version, '.');
  const auto major = parts.size() < 2 ? std::nullopt : parse_number<int>(parts[0]);
  const auto minor = parts.size() < 2 ? std::nullopt : parse_number<int>(parts[1]);
  return major && minor && *major < 100 && *minor < 1000 ? *major * 1000 + *minor : 0;
}

// The counts of a later answer beside those of the first, rank by rank.
void add_later(RasCommunicator& communicator, const RasCommunicator& later) {
  for (RasRank& rank : communicator.ranks) {
    const auto at =
        std::find_if(later.ranks.begin(), later.ranks.end(), [&rank](const RasRank& one) {
          return one.rank == rank.rank && one.told_pid == rank.told_pid;
        });
    if (at != later.ranks.end()) {
      rank.later = at->counts;
    }
  }
}

}  // namespace

void collect_ras(Capture& capture, const CaptureOptions& options) {
  const auto answer = ask_in_child(capture, options);
  if (!answer) {
    return;
  }
  snapshot::Carrier carrier(answer->tables, capture.tables);
  for (const RasCommunicator& communicator : answer->collectives.ras) {
    capture.collectives.ras.push_back(carrier.communicator(communicator));
  }
  auto& notes = capture.nodes.front().notes;
  notes.insert(notes.end(), answer->nodes.front().notes.begin(), answer->nodes.front().notes.end());
}

void collect_ras_again(Capture& capture, const CaptureOptions& options) {
  const auto& first = capture.collectives.ras;
  const bool safe = std::all_of(first.begin(), first.end(), [&capture](const auto& one) {
    return version_number(capture.tables.text(one.version)) >= kSafe;
  });
  const auto answer = first.empty() || !safe ? std::nullopt : ask_in_child(capture, options);
  if (!answer) {
    return;
  }
  snapshot::Carrier carrier(answer->tables, capture.tables);
  for (const RasCommunicator& later : answer->collectives.ras) {
    const RasCommunicator carried = carrier.communicator(later);
    for (RasCommunicator& communicator : capture.collectives.ras) {
      if (communicator.hash == carried.hash) {
        add_later(communicator, carried);
      }
    }
  }
}

}  // namespace oddrank::cli
