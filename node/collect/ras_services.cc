#include "node/collect/ras_services.h"

#include <fcntl.h>
#include <sched.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "attach/files/open_named.h"
#include "attach/proc_fds.h"
#include "base/deadline.h"
#include "base/isolated.h"
#include "base/parse_number.h"
#include "base/read_file.h"
#include "base/split.h"
#include "base/unique_fd.h"
#include "collectives/nccl/ras_client.h"
#include "snapshot/variable.h"
#include "waits/ends/socket_diag.h"
#include "waits/ends/socket_table.h"

namespace oddrank::node {
namespace {

using snapshot::Capture;
using snapshot::ProcessCapture;
using std::chrono::milliseconds;

constexpr std::uint16_t kDefaultPort = 28028;

std::string variable(const Capture& capture, const ProcessCapture& process, std::string_view name) {
  return std::string(snapshot::variable_of(capture.tables, process, name).value_or(""));
}

// Returns the value in "NAME=value" of a file of NCCL's parameters; lines with '#' are comments.
std::string parameter(std::string_view text, std::string_view name) {
  for (const std::string_view raw : split(text, '\n')) {
    const std::string_view line = trim(raw);
    if (line.starts_with(name) && line.substr(name.size()).starts_with('=')) {
      return std::string(trim(line.substr(name.size() + 1)));
    }
  }
  return {};
}

// Returns the value from the environment, else from the user's file, else from the machine's.
std::string nccl_parameter(const Capture& capture,
                           const ProcessCapture& process,
                           std::string_view name) {
  std::string value = variable(capture, process, name);
  const std::string home = variable(capture, process, "HOME");
  const auto files = attach::NamedFiles::of(process.pid);
  for (const std::string& path : {home + "/.nccl.conf", std::string("/etc/nccl.conf")}) {
    constexpr std::size_t kMaxText = 65536;
    if (value.empty() && files && path.front() == '/') {
      const auto text = files->read(path, kMaxText, attach::LastLink::kFollowed);
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

// The listening sockets of each network namespace. In our own namespace, the kernel lists these
// alone. In another one only the table of all sockets can be read, as text; for it the kernel walks
// over all connections of the machine, some milliseconds even if there are few. So each table is
// read once, and not for each rank.
class NetworkTables {
 public:
  const waits::SocketTable& of(pid_t pid, const std::string& network);

 private:
  std::map<std::string, waits::SocketTable> tables_;
};

const waits::SocketTable& NetworkTables::of(pid_t pid, const std::string& network) {
  const auto [at, fresh] = tables_.try_emplace(network);
  waits::SocketTable& table = at->second;
  if (!fresh) {
    return table;
  }
  const auto own = read_link("/proc/self/ns/net");
  const auto diag = own && *own == network ? waits::SocketDiag::open() : std::nullopt;
  if (diag && diag->add_listening_sockets(table)) {
    return table;
  }
  for (const char* file : {"/net/tcp", "/net/tcp6"}) {
    if (const auto text = read_file("/proc/" + std::to_string(pid) + file)) {
      table.add(*text);
    }
  }
  return table;
}

// Returns the address of a socket on which the process itself listens at that port.
std::optional<std::string> listening(pid_t pid,
                                     std::uint16_t port,
                                     const std::string& network,
                                     NetworkTables& tables) {
  const auto fds = attach::read_fds(pid);
  if (!fds || std::none_of(fds->begin(), fds->end(), [](const attach::OpenFd& fd) {
        return fd.kind == attach::FdKind::kSocket;
      })) {
    return std::nullopt;
  }
  const waits::SocketTable& table = tables.of(pid, network);
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

// Runs in a child. Returns text for the pipe: "SERVICES ANSWERED WHY".
std::string greet_all(const Capture& capture, const Deadline& deadline) {
  RasGreeting greeting;
  for (const RasService& service : find_ras_services(capture)) {
    ++greeting.services;
    Status greeted = enter_network(service);
    if (greeted) {
      greeted = collectives::greet_ras(service.address, deadline);
    }
    if (greeted) {
      ++greeting.answered;
    } else {
      greeting.why = greeted.error().what;
    }
  }
  for (const ProcessCapture& process : capture.processes) {
    if (greeting.services == 0 && process.is_rank &&
        nccl_parameter(capture, process, "NCCL_RAS_ENABLE") == "0") {
      greeting.why = "NCCL_RAS_ENABLE=0";
      break;
    }
  }
  return std::to_string(greeting.services) + " " + std::to_string(greeting.answered) + " " +
         greeting.why;
}

}  // namespace

std::vector<RasService> find_ras_services(const Capture& capture) {
  std::map<std::pair<std::string, std::string>, RasService> services;
  NetworkTables tables;
  for (const ProcessCapture& process : capture.processes) {
    const auto port = process.is_rank && process.rank >= 0 && process.state != 'Z'
                          ? ras_port(capture, process)
                          : std::nullopt;
    const auto network = port ? read_link("/proc/" + std::to_string(process.pid) + "/ns/net")
                              : Result<std::string>(fail(Errc::kNotFound, "no port"));
    const auto address = network ? listening(process.pid, *port, *network, tables) : std::nullopt;
    if (!address) {
      continue;
    }
    RasService& service = services[{*network, *address}];
    service.network = *network;
    service.address = *address;
    service.ranks.push_back(&process);
  }
  std::vector<RasService> list;
  list.reserve(services.size());
  for (auto& entry : services) {
    list.push_back(std::move(entry.second));
  }
  return list;
}

Status enter_network(const RasService& service) {
  const auto own = read_link("/proc/self/ns/net");
  if (own && *own == service.network) {
    return ok();
  }
  const std::string path = "/proc/" + std::to_string(service.ranks.front()->pid) + "/ns/net";
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid() || ::setns(fd.get(), CLONE_NEWNET) != 0) {
    return fail(Errc::kPermission,
                "RAS listens in another network namespace, which only root can enter");
  }
  return ok();
}

RasGreeting greet_ras_services(const Capture& capture, milliseconds patience) {
  const IsolatedTask task{
      [&](int fd) { send_bytes(fd, greet_all(capture, Deadline::after(patience))); },
      patience,
      {.sockets = true}};
  const IsolatedResult result = run_isolated({task}, 1).front();
  const std::string_view said = result.bytes;
  const auto first = said.find(' ');
  const auto second = first == std::string_view::npos ? first : said.find(' ', first + 1);
  if (second == std::string_view::npos) {
    return {1, 0, "no answer in time"};
  }
  RasGreeting greeting;
  greeting.services = parse_number<std::size_t>(said.substr(0, first)).value_or(0);
  greeting.answered =
      parse_number<std::size_t>(said.substr(first + 1, second - first - 1)).value_or(0);
  greeting.why = std::string(said.substr(second + 1));
  return greeting;
}

}  // namespace oddrank::node
