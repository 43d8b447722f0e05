#include "waits/ends/socket_diag.h"

#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <pthread.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

namespace oddrank::waits {
namespace {

constexpr std::size_t kMaxAnswer = 8192;
constexpr std::size_t kDumpBytes = 65536;  // of one message of a list
constexpr std::uint32_t kAllStates = UINT32_MAX;
constexpr std::uint32_t kListening = 1U << static_cast<unsigned>(SocketState::kListen);

template <typename T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span<const T, 1>(&value, 1));
}

template <typename T>
std::optional<T> read_at(std::span<const std::byte> bytes, std::size_t at) {
  T value{};
  if (at > bytes.size() || bytes.size() - at < sizeof value) {
    return std::nullopt;
  }
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

bool send_question(int fd,
                   std::span<const std::byte> question,
                   std::uint16_t flags,
                   std::uint16_t type = SOCK_DIAG_BY_FAMILY) {
  nlmsghdr header{};
  header.nlmsg_len = static_cast<std::uint32_t>(sizeof header + question.size());
  header.nlmsg_type = type;
  header.nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | flags);
  std::vector<std::byte> message(sizeof header + question.size());
  std::memcpy(message.data(), &header, sizeof header);
  std::memcpy(message.data() + sizeof header, question.data(), question.size());
  return ::send(fd, message.data(), message.size(), 0) >= 0;
}

// Returns the answer's message, headers included; empty for an error or no answer.
std::vector<std::byte> ask(int fd, std::span<const std::byte> question) {
  if (!send_question(fd, question, 0)) {
    return {};
  }
  std::vector<std::byte> answer(kMaxAnswer);
  const auto size = ::recv(fd, answer.data(), answer.size(), 0);
  answer.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  const auto got = read_at<nlmsghdr>(answer, 0);
  if (!got || got->nlmsg_type != SOCK_DIAG_BY_FAMILY || got->nlmsg_len > answer.size()) {
    return {};
  }
  answer.resize(got->nlmsg_len);
  return answer;
}

SocketRow row_of(const inet_diag_msg& message) {
  const bool is_v6 = message.idiag_family == AF_INET6;
  std::array<std::uint32_t, 4> local{};
  std::array<std::uint32_t, 4> peer{};
  std::memcpy(local.data(), message.id.idiag_src, sizeof local);
  std::memcpy(peer.data(), message.id.idiag_dst, sizeof peer);
  SocketRow row;
  row.local = endpoint_text(local, is_v6, ntohs(message.id.idiag_sport));
  row.peer = endpoint_text(peer, is_v6, ntohs(message.id.idiag_dport));
  row.state = message.idiag_state;
  row.unsent = message.idiag_wqueue;
  row.unread = message.idiag_rqueue;
  row.inode = message.idiag_inode;
  row.timer = message.idiag_timer;
  row.tries = message.idiag_retrans;
  row.expires_ms = message.idiag_expires;
  return row;
}

enum class ListEnd { kMore, kDone, kFailed };

// Calls take(message, headers included) for each received message.
template <typename Take>
ListEnd take_messages(std::span<const std::byte> bytes, const Take& take) {
  while (const auto header = read_at<nlmsghdr>(bytes, 0)) {
    if (header->nlmsg_len < sizeof *header || header->nlmsg_len > bytes.size()) {
      return ListEnd::kFailed;
    }
    if (header->nlmsg_type != SOCK_DIAG_BY_FAMILY && header->nlmsg_type != TCPDIAG_GETSOCK) {
      return header->nlmsg_type == NLMSG_DONE ? ListEnd::kDone : ListEnd::kFailed;
    }
    take(bytes.first(header->nlmsg_len));
    bytes = bytes.subspan(std::min<std::size_t>(NLMSG_ALIGN(header->nlmsg_len), bytes.size()));
  }
  return ListEnd::kMore;
}

// Calls take() for each socket that matches the query; returns false if the answer is incomplete.
template <typename Take>
bool list_sockets(int fd,
                  std::span<const std::byte> question,
                  const Take& take,
                  std::uint16_t type = SOCK_DIAG_BY_FAMILY) {
  if (!send_question(fd, question, NLM_F_DUMP, type)) {
    return false;
  }
  std::vector<std::byte> bytes(kDumpBytes);
  // A message has at least one row.
  for (std::size_t i = 0; i < SocketTable::kMaxRows; ++i) {
    const auto size = ::recv(fd, bytes.data(), bytes.size(), 0);
    if (size <= 0) {
      return false;
    }
    const ListEnd end = take_messages(std::span(bytes).first(static_cast<std::size_t>(size)), take);
    if (end != ListEnd::kMore) {
      return end == ListEnd::kDone;
    }
  }
  return false;
}

void add_row(std::span<const std::byte> answer, SocketTable& table) {
  if (const auto message = read_at<inet_diag_msg>(answer, sizeof(nlmsghdr))) {
    table.add(row_of(*message));
  }
}

// Adds sockets of both families with one walk over the kernel's table. The older request type
// covers both, since the kernel ignores the family in it; the newer one needs two walks.
bool add_both_families(int fd, std::uint32_t states, SocketTable& table) {
  inet_diag_req question{};
  question.idiag_family = AF_INET;
  question.idiag_states = states;
  return list_sockets(
      fd, bytes_of(question),
      [&table](std::span<const std::byte> answer) { add_row(answer, table); }, TCPDIAG_GETSOCK);
}

bool add_family(int fd, std::uint8_t family, std::uint32_t states, SocketTable& table) {
  inet_diag_req_v2 question{};
  question.sdiag_family = family;
  question.sdiag_protocol = IPPROTO_TCP;
  question.idiag_states = states;
  return list_sockets(fd, bytes_of(question),
                      [&table](std::span<const std::byte> answer) { add_row(answer, table); });
}

bool add_tcp(int fd, std::uint32_t states, SocketTable& table) {
  return add_both_families(fd, states, table) ||
         (add_family(fd, AF_INET, states, table) && add_family(fd, AF_INET6, states, table));
}

// Returns the value of an attribute after `head` bytes of an answer; empty if there is none.
std::span<const std::byte> attribute(std::span<const std::byte> answer,
                                     std::size_t head,
                                     std::uint16_t type) {
  std::size_t at = NLMSG_ALIGN(sizeof(nlmsghdr) + head);
  while (const auto header = read_at<rtattr>(answer, at)) {
    if (header->rta_len < sizeof *header || header->rta_len > answer.size() - at) {
      break;
    }
    if (header->rta_type == type) {
      return answer.subspan(at + sizeof *header, header->rta_len - sizeof *header);
    }
    at += RTA_ALIGN(header->rta_len);
  }
  return {};
}

}  // namespace

std::optional<SocketDiag> SocketDiag::open() {
  UniqueFd fd(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  // The kernel answers within the call; the limit is a safeguard.
  const timeval patience{0, 200'000};
  if (!fd.valid() ||
      ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) != 0) {
    return std::nullopt;
  }
  return SocketDiag(std::move(fd));
}

namespace {

struct NetworkVisit {
  int network = -1;
  std::optional<SocketDiag> opened;
};

void* open_inside(void* of) {
  auto& visit = *static_cast<NetworkVisit*>(of);
  if (::setns(visit.network, CLONE_NEWNET) == 0) {
    visit.opened = SocketDiag::open();
  }
  return nullptr;
}

}  // namespace

// A socket keeps the namespace in which it was opened. A thread enters and ends there: the caller
// might not get back into its own, which may belong to others.
std::optional<SocketDiag> SocketDiag::open_beside(pid_t pid) {
  const std::string path = "/proc/" + std::to_string(pid) + "/ns/net";
  const UniqueFd network(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  NetworkVisit visit{network.get(), std::nullopt};
  pthread_t thread{};
  if (network.valid() && ::pthread_create(&thread, nullptr, open_inside, &visit) == 0) {
    ::pthread_join(thread, nullptr);
  }
  return std::move(visit.opened);
}

bool SocketDiag::add_tcp_sockets(SocketTable& table) const {
  return add_tcp(fd_.get(), kAllStates, table);
}

bool SocketDiag::add_listening_sockets(SocketTable& table) const {
  return add_tcp(fd_.get(), kListening, table);
}

std::optional<LocalSockets> SocketDiag::local_sockets() const {
  unix_diag_req question{};
  question.sdiag_family = AF_UNIX;
  question.udiag_states = UINT32_MAX;
  question.udiag_show = UDIAG_SHOW_PEER | UDIAG_SHOW_ICONS;
  LocalSockets sockets;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> queued;  // client, listener
  const bool all =
      list_sockets(fd_.get(), bytes_of(question), [&](std::span<const std::byte> answer) {
        const auto peer = attribute(answer, sizeof(unix_diag_msg), UNIX_DIAG_PEER);
        const auto socket = read_at<unix_diag_msg>(answer, sizeof(nlmsghdr));
        if (socket && sockets.size() < SocketTable::kMaxRows) {
          const bool listens =
              socket->udiag_state == static_cast<std::uint8_t>(SocketState::kListen);
          sockets.emplace(socket->udiag_ino,
                          LocalSocket{read_at<std::uint32_t>(peer, 0).value_or(0), listens});
          const auto clients = attribute(answer, sizeof(unix_diag_msg), UNIX_DIAG_ICONS);
          for (std::size_t at = 0; at + sizeof(std::uint32_t) <= clients.size();
               at += sizeof(std::uint32_t)) {
            queued.emplace_back(read_at<std::uint32_t>(clients, at).value_or(0), socket->udiag_ino);
          }
        }
      });
  for (const auto& [client, listener] : queued) {
    const auto socket = sockets.find(client);
    if (socket != sockets.end() && socket->second.peer == 0) {
      socket->second = {listener, false, true};
    }
  }
  return all ? std::optional(std::move(sockets)) : std::nullopt;
}

std::optional<TcpInfo> SocketDiag::info(const SocketRow& row) const {
  const auto local = parse_endpoint(row.local);
  const auto peer = parse_endpoint(row.peer);
  if (!local || !peer || local->family != peer->family) {
    return std::nullopt;
  }
  inet_diag_req_v2 question{};
  question.sdiag_family = local->family;
  question.sdiag_protocol = IPPROTO_TCP;
  question.idiag_ext = 1U << (INET_DIAG_INFO - 1);
  question.idiag_states = UINT32_MAX;
  question.id.idiag_sport = local->port;
  question.id.idiag_dport = peer->port;
  std::memcpy(question.id.idiag_src, local->address.data(), sizeof question.id.idiag_src);
  std::memcpy(question.id.idiag_dst, peer->address.data(), sizeof question.id.idiag_dst);
  question.id.idiag_cookie[0] = INET_DIAG_NOCOOKIE;
  question.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  const auto answer = ask(fd_.get(), bytes_of(question));
  const auto found = read_at<inet_diag_msg>(answer, sizeof(nlmsghdr));
  // For an address without a connection the kernel returns a socket that listens there.
  if (!found || found->id.idiag_dport != peer->port || found->idiag_inode != row.inode) {
    return std::nullopt;
  }
  const auto info = attribute(answer, sizeof(inet_diag_msg), INET_DIAG_INFO);
  const auto sent = read_at<std::uint32_t>(info, offsetof(tcp_info, tcpi_last_data_sent));
  const auto received = read_at<std::uint32_t>(info, offsetof(tcp_info, tcpi_last_data_recv));
  const auto rto_us = read_at<std::uint32_t>(info, offsetof(tcp_info, tcpi_rto));
  if (!sent || !received || !rto_us) {
    return std::nullopt;
  }
  constexpr std::size_t kBytesAcked = 120;  // struct tcp_info of Linux 4.1; not in older headers
  TcpInfo found_info{*sent, *received, *rto_us / 1000};
  found_info.acknowledged = read_at<std::int64_t>(info, kBytesAcked).value_or(-1);
  found_info.received = read_at<std::int64_t>(info, kBytesAcked + 8).value_or(-1);
  return found_info;
}

}  // namespace oddrank::waits
