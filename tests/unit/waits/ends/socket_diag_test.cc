// Real sockets of this process, compared with the kernel's data on them.
#include "waits/ends/socket_diag.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <array>

#include <arpa/inet.h>
#include <netinet/in.h>

#include "base/read_file.h"
#include "tests/support/catch.h"
#include "tests/support/emulated.h"

namespace oddrank::waits {
namespace {

std::uint64_t inode_of(const UniqueFd& fd) {
  struct stat status {};
  REQUIRE(::fstat(fd.get(), &status) == 0);
  return status.st_ino;
}

struct Connection {
  UniqueFd client{::socket(AF_INET, SOCK_STREAM, 0)};
  UniqueFd server;

  Connection() {
    const UniqueFd listener(::socket(AF_INET, SOCK_STREAM, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* raw = reinterpret_cast<sockaddr*>(&address);
    socklen_t size = sizeof address;
    REQUIRE(::bind(listener.get(), raw, size) == 0);
    REQUIRE(::listen(listener.get(), 1) == 0);
    REQUIRE(::getsockname(listener.get(), raw, &size) == 0);
    REQUIRE(::connect(client.get(), raw, size) == 0);
    server = UniqueFd(::accept(listener.get(), nullptr, nullptr));
    REQUIRE(server.valid());
  }
};

LocalSockets local_sockets() {
  const auto diag = SocketDiag::open();
  REQUIRE(diag);
  auto sockets = diag->local_sockets();
  REQUIRE(sockets);
  return *std::move(sockets);
}

TEST_CASE("both ends of a local socket know each other") {
  ODDRANK_NEEDS_KERNEL();
  std::array<int, 2> ends{};
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) == 0);
  const UniqueFd one(ends[0]);
  UniqueFd other(ends[1]);
  const LocalSockets both = local_sockets();
  CHECK(both.at(inode_of(one)).peer == inode_of(other));
  CHECK(both.at(inode_of(other)).peer == inode_of(one));
  CHECK_FALSE(both.at(inode_of(one)).listens);
  other.reset();
  CHECK(local_sockets().at(inode_of(one)).peer == 0);
  const UniqueFd listener(::socket(AF_UNIX, SOCK_STREAM, 0));
  sockaddr_un address{};  // the kernel gives it a name of its own
  address.sun_family = AF_UNIX;
  REQUIRE(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address),
                 sizeof address.sun_family) == 0);
  REQUIRE(::listen(listener.get(), 1) == 0);
  CHECK(local_sockets().at(inode_of(listener)).listens);
  const UniqueFd client(::socket(AF_UNIX, SOCK_STREAM, 0));
  socklen_t size = sizeof address;
  auto* const raw = reinterpret_cast<sockaddr*>(&address);
  REQUIRE(::getsockname(listener.get(), raw, &size) == 0);
  REQUIRE(::connect(client.get(), raw, size) == 0);
  CHECK(local_sockets().at(inode_of(client)).peer == inode_of(listener));
  CHECK(local_sockets().at(inode_of(client)).queued);
  const UniqueFd accepted(::accept(listener.get(), nullptr, nullptr));
  CHECK(local_sockets().at(inode_of(client)).peer == inode_of(accepted));
  CHECK_FALSE(local_sockets().at(inode_of(client)).queued);
}

TEST_CASE("a connection is no local socket") {
  ODDRANK_NEEDS_KERNEL();
  const Connection connection;
  CHECK_FALSE(local_sockets().contains(inode_of(connection.client)));
}

TEST_CASE("how long a connection has been silent") {
  ODDRANK_NEEDS_KERNEL();
  const auto diag = SocketDiag::open();
  REQUIRE(diag);
  const Connection connection;
  SocketTable table;
  const auto text = read_file("/proc/self/net/tcp");
  REQUIRE(text);
  table.add(*text);
  const SocketRow* row = table.by_inode(inode_of(connection.client));
  REQUIRE(row != nullptr);
  const auto info = diag->info(*row);
  REQUIRE(info);
  CHECK(info->received_ms < 60'000);  // since the connection was made, just now
  SocketRow listening = *row;
  listening.inode += 1;
  CHECK_FALSE(diag->info(listening));
  SocketRow broken = *row;
  broken.peer = "nothing";
  CHECK_FALSE(diag->info(broken));
  broken.peer = "[::1]:80";
  CHECK_FALSE(diag->info(broken));
}

TEST_CASE("the list of TCP sockets agrees with the table as text") {
  ODDRANK_NEEDS_KERNEL();
  const auto diag = SocketDiag::open();
  REQUIRE(diag);
  const Connection connection;
  SocketTable by_text;
  const auto text = read_file("/proc/self/net/tcp");
  REQUIRE(text);
  by_text.add(*text);
  SocketTable listed;
  REQUIRE(diag->add_tcp_sockets(listed));
  for (const UniqueFd* end : {&connection.client, &connection.server}) {
    const SocketRow* row = listed.by_inode(inode_of(*end));
    const SocketRow* same = by_text.by_inode(inode_of(*end));
    REQUIRE(row != nullptr);
    REQUIRE(same != nullptr);
    CHECK(row->local == same->local);
    CHECK(row->peer == same->peer);
    CHECK(row->state == same->state);
    CHECK(row->unread == same->unread);
    CHECK(row->unsent == same->unsent);
  }
  const SocketRow* client = listed.by_inode(inode_of(connection.client));
  REQUIRE(listed.other_end(*client) != nullptr);
  CHECK(listed.other_end(*client)->inode == inode_of(connection.server));
}

TEST_CASE("the list of TCP sockets has those of IPv6 and those that listen") {
  ODDRANK_NEEDS_KERNEL();
  const UniqueFd listener(::socket(AF_INET6, SOCK_STREAM, 0));
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_addr = in6addr_loopback;
  const auto* raw = reinterpret_cast<const sockaddr*>(&address);
  if (!listener.valid() || ::bind(listener.get(), raw, sizeof address) != 0) {
    ODDRANK_SKIP("no IPv6 on this machine");
  }
  REQUIRE(::listen(listener.get(), 1) == 0);
  SocketTable listed;
  const auto diag = SocketDiag::open();
  REQUIRE(diag);
  REQUIRE(diag->add_tcp_sockets(listed));
  const SocketRow* row = listed.by_inode(inode_of(listener));
  REQUIRE(row != nullptr);
  CHECK(row->state == static_cast<std::uint8_t>(SocketState::kListen));
  CHECK(row->local.starts_with("[::1]:"));
  CHECK(row->peer == "[::]:0");
  SocketTable only;
  REQUIRE(diag->add_listening_sockets(only));
  REQUIRE(only.by_inode(inode_of(listener)) != nullptr);
  CHECK(only.by_inode(inode_of(listener))->local == row->local);
}

TEST_CASE("a connection is not among those that listen") {
  ODDRANK_NEEDS_KERNEL();
  const auto diag = SocketDiag::open();
  REQUIRE(diag);
  const Connection connection;
  SocketTable listed;
  REQUIRE(diag->add_listening_sockets(listed));
  CHECK(listed.by_inode(inode_of(connection.client)) == nullptr);
}

}  // namespace
}  // namespace oddrank::waits
