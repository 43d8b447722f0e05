// Ends of pipes and connections are joined, on made-up descriptors.
#include "waits/ends/join_ends.h"

#include "tests/support/catch.h"
#include "tests/unit/waits/capture_builder.h"

namespace oddrank::waits {
namespace {

using snapshot::Known;
using snapshot::WaitOn;

constexpr std::uint64_t kPipe = 31;

struct Node {
  CaptureBuilder build;
  NodeEnds node;

  // Adds a rank, which gets these ends of the pipe.
  std::size_t add(pid_t pid, bool reads, bool writes) {
    const std::size_t index = build.add(pid, 1, {});
    node.namespace_of.push_back(kOutside);
    if (reads) {
      node.ends.push_back({kPipe, false, true, false, index, pid});
    }
    if (writes) {
      node.ends.push_back({kPipe, false, false, true, index, pid});
    }
    return index;
  }
  void waits(std::size_t index, const char* call, const char* path) {
    snapshot::Wait& wait = build.wait(index);
    wait.on = path[0] == 'p' ? WaitOn::kPipe : WaitOn::kSocket;
    wait.syscall_name = build.capture.tables.string(call);
    wait.path = build.capture.tables.string(path);
  }
  // At a file that has a path; the other end is in `ends`.
  snapshot::Wait& waits_at(std::size_t index, WaitOn on, const char* call, const char* path) {
    snapshot::Wait& wait = build.wait(index);
    wait.on = on;
    wait.fd = 5;
    wait.syscall_name = build.capture.tables.string(call);
    wait.path = build.capture.tables.string(path);
    return wait;
  }
  const snapshot::Wait& join(std::size_t index) {
    join_ends(node, build.capture);
    return build.wait(index);
  }
};

TEST_CASE("a reader waits for the process that can write, a writer for the one that reads") {
  Node scene;
  const auto reader = scene.add(10, true, false);
  const auto writer = scene.add(20, false, true);
  scene.waits(reader, "read", "pipe:[31]");
  scene.waits(writer, "write", "pipe:[31]");
  CHECK(scene.join(reader).holder_pid == 20);
  CHECK(scene.build.wait(reader).holder_alive == Known::kYes);
  CHECK_FALSE(scene.build.wait(reader).inferred);
  CHECK(scene.build.wait(writer).holder_pid == 10);
  CHECK(scene.build.says(writer) == "pid 10 has it open for reading");
}

TEST_CASE("a named pipe's other end is known by its path") {
  Node scene;
  const auto reader = scene.add(10, true, false);
  scene.add(20, false, true);
  snapshot::Wait& wait = scene.waits_at(reader, WaitOn::kFile, "read", "/data/hand-over");
  wait.wchan = scene.build.capture.tables.string("anon_pipe_read");
  SECTION("if it was read") {
    scene.node.named_pipes = {{"/data/hand-over", kPipe}};
    CHECK(scene.join(reader).holder_pid == 20);
    CHECK(scene.build.says(reader) == "pid 20 has it open for writing");
  }
  SECTION("a file of another kind has no other end") {
    scene.node.named_pipes = {{"/data/hand-over", kPipe}};
    wait.wchan = scene.build.capture.tables.string("folio_wait_bit");
    CHECK(scene.join(reader).holder_pid == 0);
  }
  SECTION("not if it was not read") {
    CHECK(scene.join(reader).holder_pid == 0);
  }
}

TEST_CASE("who has the other side of its terminal is awaited, as at a pipe") {
  Node scene;
  const auto program = scene.add(10, false, false);
  scene.add(20, true, true);
  scene.waits_at(program, WaitOn::kPipe, GENERATE("read", "write", "poll"), "/dev/pts/3");
  scene.node.named_pipes = {{"/dev/pts/3", kPipe}};
  CHECK(scene.join(program).holder_pid == 20);
}

TEST_CASE("a process with only the other end uses it; one with both has inherited them") {
  Node scene;
  const auto reader = scene.add(10, true, true);
  scene.add(20, true, true);
  scene.add(30, false, true);
  scene.waits(reader, "poll", "pipe:[31]");
  CHECK(scene.join(reader).holder_pid == 30);
  CHECK(scene.build.wait(reader).inferred);
}

TEST_CASE("several processes with the other end: no holder is named") {
  Node scene;
  const auto reader = scene.add(10, true, false);
  scene.add(20, false, true);
  scene.add(30, false, true);
  scene.waits(reader, "read", "pipe:[31]");
  CHECK(scene.join(reader).holder_pid == 0);
  CHECK(scene.build.says(reader) == "open for writing in pids 20, 30");
}

TEST_CASE("of a shell and the programs that it started, the shell is waited for") {
  Node scene;
  const auto reader = scene.add(10, true, false);
  const auto shell = scene.add(20, false, true);
  const auto program = scene.add(30, false, true);
  const auto other = scene.add(40, false, true);
  scene.build.process(shell).parent = 10;
  scene.build.process(program).parent = 20;
  scene.build.process(other).parent = 30;
  scene.waits(reader, "read", "pipe:[31]");
  CHECK(scene.join(reader).holder_pid == 20);
  CHECK(scene.build.wait(reader).inferred);
  scene.build.wait(reader).holder_pid = 0;
  scene.build.process(other).parent = 10;  // the reader's second child
  CHECK(scene.join(reader).holder_pid == 0);
}

TEST_CASE("connections beyond the limit are counted") {
  for (const std::size_t count : {4096U, 4097U, 40960U}) {
    INFO(count);
    Node scene;
    scene.build.capture.nodes.resize(1);
    const std::size_t rank = scene.add(10, false, false);
    scene.node.sockets.emplace_back();
    scene.node.namespace_of[rank] = 0;
    for (std::size_t i = 0; i < count; ++i) {
      SocketRow row;
      row.local = "10.0.0.1:" + std::to_string(i);
      row.peer = "10.0.0.2:29500";
      row.state = static_cast<std::uint8_t>(SocketState::kEstablished);
      row.inode = 100 + i;
      scene.node.ends.push_back({row.inode, true, true, true, rank, 10});
      scene.node.sockets[0].add(std::move(row));
    }
    scene.join(rank);
    const auto& notes = scene.build.capture.nodes[0].notes;
    CHECK(scene.build.process(rank).connections.size() == 4096);
    CHECK(notes == (count == 4096
                        ? std::vector<std::string>()
                        : std::vector<std::string>{"pid 10 has " + std::to_string(count) +
                                                   " connections to other nodes, of which 4096 "
                                                   "are in the report"}));
  }
}

TEST_CASE("sockets and network namespaces that were not read are counted") {
  Node scene;
  scene.build.capture.nodes.resize(1);
  const std::size_t rank = scene.add(10, false, false);
  SocketTable& table = scene.node.sockets.emplace_back();
  for (std::size_t i = 0; i < SocketTable::kMaxRows + 7; ++i) {
    table.add(SocketRow{});
  }
  scene.node.unread_networks = 1;
  scene.join(rank);
  const auto& notes = scene.build.capture.nodes[0].notes;
  REQUIRE(notes.size() == 2);
  CHECK(notes[0] == "the sockets of 1 more network namespace were not read");
  CHECK(notes[1] == "7 sockets of 65543 in a network namespace were not read");
}

TEST_CASE("that nobody has the other end is not said if not all was searched") {
  Node scene;
  const auto reader = scene.add(10, true, false);
  scene.waits(reader, "read", "pipe:[31]");
  scene.node.cut = {20};
  CHECK(scene.join(reader).holder_pid == 0);
  CHECK(scene.build.says(reader) ==
        "no other process that was searched has it open for writing; too many files to search all: "
        "of pid 20");
  scene.node.cut.clear();
  scene.node.unsearched = 300;
  scene.join(reader);
  CHECK(scene.build.says(reader) ==
        "no other process that was searched has it open for writing; no time to search 300 other "
        "processes");
}

TEST_CASE("owners that cannot be told apart are listed, or counted") {
  for (const std::size_t owners : {4U, 5U, 50U}) {
    INFO(owners);
    Node scene;
    const auto reader = scene.add(10, true, false);
    for (std::size_t i = 0; i < owners; ++i) {
      scene.add(static_cast<pid_t>(20 + i), false, true);
    }
    scene.waits(reader, "read", "pipe:[31]");
    CHECK(scene.join(reader).holder_pid == 0);
    const std::string others = owners == 4 ? "" : owners == 5 ? " and another" : " and 46 others";
    CHECK(scene.build.says(reader) == "open for writing in pids 20, 21, 22, 23" + others);
  }
}

TEST_CASE("a pipe whose other end is in the process alone, or in no process") {
  const bool has_both = GENERATE(true, false);
  Node scene;
  const auto reader = scene.add(10, true, has_both);
  scene.waits(reader, "read", "pipe:[31]");
  CHECK(scene.join(reader).holder_pid == 0);
  CHECK(scene.build.says(reader) == (has_both ? "this very process has it open for writing"
                                              : "no other process has it open for writing"));
}

TEST_CASE("a known holder stays, a pipe that was not read says nothing") {
  Node scene;
  const auto reader = scene.add(10, true, false);
  scene.add(20, false, true);
  scene.waits(reader, "read", "pipe:[31]");
  scene.build.wait(reader).holder_pid = 77;
  CHECK(scene.join(reader).holder_pid == 77);
  scene.build.wait(reader).holder_pid = 0;
  scene.waits(reader, "read", "pipe:[32]");
  CHECK(scene.join(reader).holder_pid == 0);
}

constexpr const char* kTcp =
    "1: 0100000A:733C 0100000A:C350 01 0:0 0:0 0 0 0 701\n"
    "2: 0100000A:C350 0100000A:733C 01 0:0 0:0 0 0 0 702\n"
    "3: 0100000A:1F90 0200000A:0050 01 0:7 0:0 0 0 0 703\n";

struct Sockets : Node {
  Sockets() {
    node.sockets.emplace_back();
    node.sockets.back().add(kTcp);
  }
  std::size_t add_socket(pid_t pid, std::uint64_t inode) {
    const std::size_t index = add(pid, false, false);
    node.namespace_of[index] = 0;
    node.ends.push_back({inode, true, true, true, index, pid});
    return index;
  }
};

TEST_CASE("the other end of a connection on this node") {
  Sockets scene;
  const auto client = scene.add_socket(10, 702);
  scene.add_socket(20, 701);
  scene.waits(client, "recvfrom", "socket:[702]");
  const snapshot::Wait& wait = scene.join(client);
  CHECK(wait.holder_pid == 20);
  CHECK(scene.build.capture.tables.text(wait.rare->peer) == "10.0.0.1:29500");
  CHECK(scene.build.says(client) ==
        "TCP 10.0.0.1:50000 to 10.0.0.1:29500, ESTABLISHED; the other end is pid 20");
  CHECK(scene.build.process(client).connections.empty());
}

TEST_CASE("a connection to another node is kept with its owner") {
  Sockets scene;
  const auto client = scene.add_socket(10, 703);
  scene.waits(client, "recvfrom", "socket:[703]");
  CHECK(scene.join(client).holder_pid == 0);
  CHECK(scene.build.says(client) ==
        "TCP 10.0.0.1:8080 to 10.0.0.2:80, ESTABLISHED, 7 bytes not read");
  REQUIRE(scene.build.process(client).connections.size() == 1);
  const auto& kept = scene.build.process(client).connections.front();
  CHECK(scene.build.capture.tables.text(kept.local) == "10.0.0.1:8080");
  CHECK(scene.build.capture.tables.text(kept.peer) == "10.0.0.2:80");
}

TEST_CASE("a connection within the node is kept if nobody is seen at its other end") {
  Sockets scene;
  const auto client = scene.add_socket(10, 702);
  scene.waits(client, "nanosleep", "");
  SECTION("nobody") {
    scene.join(client);
    REQUIRE(scene.build.process(client).connections.size() == 1);
    CHECK(scene.build.capture.tables.text(scene.build.process(client).connections.front().peer) ==
          "10.0.0.1:29500");
  }
  SECTION("a process outside of the job") {
    scene.node.ends.push_back({701, true, true, true, kOutside, 90});
    scene.join(client);
    CHECK(scene.build.process(client).connections.empty());
  }
}

TEST_CASE("the other end in a process outside the job") {
  Sockets scene;
  const auto client = scene.add_socket(10, 702);
  scene.node.ends.push_back({701, true, true, true, kOutside, 90});
  scene.node.tcp[702] = {64'100, 3'600'900};
  scene.waits(client, "recvfrom", "socket:[702]");
  CHECK(scene.join(client).holder_pid == 90);
  REQUIRE(scene.build.wait(client).rare->awaited.size() == 1);
  CHECK(scene.build.wait(client).rare->awaited[0].received_ms == 3'600'900);
  CHECK(scene.build.wait(client).rare->awaited[0].sent_ms == 64'100);
  CHECK_FALSE(scene.build.wait(client).rare->awaited[0].tls);
  CHECK(scene.build.says(client) ==
        "TCP 10.0.0.1:50000 to 10.0.0.1:29500, ESTABLISHED, nothing received for 3600 s, nothing "
        "sent for 64 s; the other end is pid 90");
}

TEST_CASE("a connection that was used a moment ago; and one below TLS") {
  Sockets scene;
  const auto client = scene.add_socket(10, 703);
  scene.node.tcp[703] = {0, 999};
  scene.build.process(client).threads[0].samples.edit(0).stack =
      scene.build.stack({{"SSLSocket.read", "/usr/lib/python3.11/ssl.py"}});
  scene.waits(client, "recvfrom", "socket:[703]");
  REQUIRE(scene.join(client).rare->awaited.size() == 1);
  CHECK(scene.build.wait(client).rare->awaited[0].tls);
  CHECK(scene.build.says(client) ==
        "TCP 10.0.0.1:8080 to 10.0.0.2:80, ESTABLISHED, 7 bytes not read, over TLS");
}

TEST_CASE("a connection that is not yet established has an address, and no other end") {
  Sockets scene;
  scene.node.sockets.back().add("4: 0100000A:1F91 0200000A:0050 02 1:0 0:0 0 0 0 704\n");
  const auto client = scene.add_socket(10, 704);
  scene.waits(client, "connect", "socket:[704]");
  CHECK(scene.join(client).rare->peer == snapshot::StringId{});
  CHECK(scene.build.says(client) ==
        "TCP 10.0.0.1:8081 to 10.0.0.2:80, SYN_SENT, 1 bytes not acknowledged");
}

TEST_CASE("a listening socket has its address") {
  Sockets scene;
  scene.node.sockets.back().add("4: 0100007F:1F91 00000000:0000 0A 0:0 0:0 0 0 0 704\n");
  const auto server = scene.add_socket(10, 704);
  scene.waits(server, "accept4", "socket:[704]");
  CHECK(scene.join(server).rare->peer == snapshot::StringId{});
  CHECK(scene.build.says(server) == "listens at 127.0.0.1:8081");
}

// The kernel has made the connection, and the server has yet to call accept().
TEST_CASE("a connection that is not accepted leads to the process that listens") {
  for (const char* listener : {"3: 0100000A:733C 00000000:0000 0A 0:1 0:0 0 0 0 709\n",
                               "3: 00000000:733C 00000000:0000 0A 0:1 0:0 0 0 0 709\n"}) {
    Sockets scene;
    scene.node.sockets.back() = SocketTable();
    scene.node.sockets.back().add("1: 0100000A:733C 0100000A:C350 01 0:0 0:0 0 0 0 0\n");
    scene.node.sockets.back().add("2: 0100000A:C350 0100000A:733C 01 0:0 0:0 0 0 0 702\n");
    scene.node.sockets.back().add(listener);
    const auto client = scene.add_socket(10, 702);
    scene.add_socket(20, 709);
    scene.waits(client, "recvfrom", "socket:[702]");
    CHECK(scene.join(client).holder_pid == 20);
    CHECK(scene.build.says(client) ==
          "TCP 10.0.0.1:50000 to 10.0.0.1:29500, ESTABLISHED; it is "
          "not accepted yet; the other end is pid 20");
  }
}

TEST_CASE("a connection whose other end was closed leads to nobody") {
  Sockets scene;
  scene.node.sockets.back() = SocketTable();
  scene.node.sockets.back().add("1: 0100000A:733C 0100000A:C350 05 0:0 0:0 0 0 0 0\n");
  scene.node.sockets.back().add("2: 0100000A:C350 0100000A:733C 01 0:0 0:0 0 0 0 702\n");
  scene.node.sockets.back().add("3: 0100000A:733C 00000000:0000 0A 0:1 0:0 0 0 0 709\n");
  const auto client = scene.add_socket(10, 702);
  scene.add_socket(20, 709);
  scene.waits(client, "recvfrom", "socket:[702]");
  CHECK(scene.join(client).holder_pid == 0);
  CHECK(scene.build.says(client) ==
        "TCP 10.0.0.1:50000 to 10.0.0.1:29500, ESTABLISHED; the other end is closed");
}

TEST_CASE("both ends of a local socket") {
  Sockets scene;
  const auto client = scene.add_socket(10, 801);
  scene.add_socket(20, 802);
  scene.node.local_sockets[801] = {802, false};
  scene.waits(client, "recvmsg", "socket:[801]");
  CHECK(scene.join(client).holder_pid == 20);
  CHECK(scene.build.says(client) == "local socket; the other end is pid 20");
}

TEST_CASE("a local socket that listens") {
  Sockets scene;
  const auto server = scene.add_socket(10, 801);
  scene.node.local_sockets[801] = {0, true};
  scene.waits(server, "accept4", "socket:[801]");
  CHECK(scene.join(server).rare->awaited.front().state == snapshot::kTcpListens);
  CHECK(scene.build.says(server) == "listens at a local socket");
}

TEST_CASE("a local socket whose other end is in no process that was read") {
  Sockets scene;
  const auto client = scene.add_socket(10, 801);
  scene.node.local_sockets[801] = {803, false};
  scene.waits(client, "recvmsg", "socket:[801]");
  CHECK(scene.join(client).holder_pid == 0);
  CHECK(scene.build.says(client) == "local socket");
}

TEST_CASE("a store that a program made itself names no holder either") {
  Sockets scene;
  const auto client = scene.add_socket(10, 702);
  scene.add_socket(20, 701);
  scene.build.process(client).threads[0].samples.edit(0).stack =
      scene.build.stack({{"c10d::TCPStore::doWait", ""}});
  scene.waits(client, "recvfrom", "socket:[702]");
  CHECK(scene.join(client).holder_pid == 0);
  CHECK(scene.build.wait(client).rare->peer == snapshot::StringId{});
}

TEST_CASE("workers inherit their rank's connections: the holder is the rank") {
  Sockets scene;
  const auto client = scene.add_socket(10, 702);
  scene.add_socket(20, 701);
  const auto worker = scene.add_socket(21, 701);
  scene.build.process(worker).is_rank = false;
  scene.build.process(worker).owner = 20;
  scene.waits(client, "recvfrom", "socket:[702]");
  CHECK(scene.join(client).holder_pid == 20);
  CHECK(scene.build.wait(client).inferred);
}

TEST_CASE("a connection that two ranks have open names no holder") {
  Sockets scene;
  const auto client = scene.add_socket(10, 702);
  scene.add_socket(20, 701);
  scene.add_socket(30, 701);
  scene.waits(client, "recvfrom", "socket:[702]");
  CHECK(scene.join(client).holder_pid == 0);
  CHECK(scene.build.says(client).find("open in pids 20, 30") != std::string_view::npos);
}

struct Several : Sockets {
  std::size_t waiter = add_socket(10, 702);

  Several() {
    node.ends.push_back({kPipe, false, true, false, waiter, 10});
    build.wait(waiter).on = WaitOn::kUnknown;
    build.wait(waiter).how = snapshot::WaitHow::kFiles;
    build.wait(waiter).syscall_name = build.capture.tables.string("poll");
    await(4, "pipe:[31]");
    await(5, "socket:[702]");
  }
  void await(int fd, std::string_view link) {
    snapshot::Wait& wait = build.wait(waiter);
    wait.rare.edit().awaited.emplace_back();
    wait.rare.edit().awaited.back().fd = fd;
    wait.rare.edit().awaited.back().link = build.capture.tables.string(link);
    wait.rare.edit().awaited_count = wait.rare->awaited.size();
  }
};

TEST_CASE("several files: each other end is described, a process with all of them is the holder") {
  Several scene;
  scene.add_socket(20, 701);
  scene.node.ends.push_back({kPipe, false, false, true, 1, 20});
  const snapshot::Wait& wait = scene.join(scene.waiter);
  CHECK(wait.holder_pid == 20);
  CHECK(wait.inferred);
  CHECK(wait.path == snapshot::StringId{});
  CHECK(wait.rare->peer == snapshot::StringId{});
  REQUIRE(wait.rare->awaited.size() == 2);
  CHECK(scene.build.capture.tables.text(wait.rare->awaited[1].peer) == "10.0.0.1:29500");
  CHECK(scene.build.says(scene.waiter) ==
        "in poll() of 2 files (4 pipe:[31], 5 socket:[702]); fd 4: pid 20 has it open for writing; "
        "fd 5: TCP 10.0.0.1:50000 to 10.0.0.1:29500, ESTABLISHED; the other end is pid 20");
}

TEST_CASE("several files with several other ends: no holder is named, all are described") {
  Several scene;
  scene.add_socket(20, 701);
  scene.add(30, false, true);
  CHECK(scene.join(scene.waiter).holder_pid == 0);
  const auto& awaited = scene.build.wait(scene.waiter).rare->awaited;
  CHECK(awaited[0].holder_pid == 30);
  CHECK(awaited[1].holder_pid == 20);
  CHECK(scene.build.says(scene.waiter).find("fd 4: pid 30 has it open") != std::string::npos);
  CHECK(scene.build.says(scene.waiter).find("other end is pid 20") != std::string::npos);
}

TEST_CASE("a pipe to itself does not hide the other ends; an end that was not found does") {
  Several scene;
  scene.add_socket(20, 701);
  scene.node.ends.push_back({kPipe, false, false, true, scene.waiter, 10});
  CHECK(scene.join(scene.waiter).holder_pid == 20);

  Several unknown;
  unknown.add_socket(20, 701);
  unknown.add(30, false, true);
  unknown.add(40, false, true);
  CHECK(unknown.join(unknown.waiter).holder_pid == 0);

  Several cut;
  cut.add_socket(20, 701);
  cut.node.ends.push_back({kPipe, false, false, true, 1, 20});
  cut.build.wait(cut.waiter).rare.edit().awaited_count = 9;
  CHECK(cut.join(cut.waiter).holder_pid == 0);
}

struct Polled : Node {
  std::size_t waiter = add(10, false, false);

  const snapshot::Wait& look(std::vector<OpenFile> files) {
    node.files = std::move(files);
    snapshot::Wait& wait = build.wait(waiter);
    wait = {};
    wait.on = WaitOn::kFileLock;
    wait.inferred = true;
    wait.path = build.capture.tables.string("/build/lock");
    return join(waiter);
  }
};

TEST_CASE("the maker of a polled file has it open, a process that locked it comes first") {
  Polled scene;
  CHECK(scene.look({{"/build/lock", 20, false, false}}).holder_pid == 20);
  CHECK(
      scene.look({{"/build/lock", 20, false, false}, {"/build/lock", 30, true, true}}).holder_pid ==
      30);
  CHECK(scene.build.says(scene.waiter) == "pid 30 has locked it");
}

TEST_CASE("a process that tries to lock the polled file does not hold it") {
  Polled scene;
  CHECK(scene.look({{"/build/lock", 20, false, true}}).holder_pid == 0);
  CHECK(scene.build.says(scene.waiter) == "nobody on this node has it open");
  CHECK(scene.look({{"/other/lock", 20, true, true}, {"/build/lock", 10, true, true}}).holder_pid ==
        0);
  CHECK(scene.look({{"/build/lock", 20, true, true}, {"/build/lock", 30, true, true}}).holder_pid ==
        0);
}

TEST_CASE("open files are no evidence for a lock that a call waits for") {
  Polled scene;
  scene.look({});
  snapshot::Wait& wait = scene.build.wait(scene.waiter);
  wait.inferred = false;
  scene.node.files = {{"/build/lock", 20, false, false}};
  CHECK(scene.join(scene.waiter).holder_pid == 0);
}

TEST_CASE("the store names no holder: others have to come to it") {
  Sockets scene;
  const auto client = scene.add_socket(10, 702);
  scene.add_socket(20, 701);
  auto& tables = scene.build.capture.tables;
  scene.build.process(client).environment.emplace_back(tables.string("MASTER_PORT"),
                                                       tables.string("29500"));
  scene.waits(client, "recvfrom", "socket:[702]");
  SECTION("of a process that communicates") {
    scene.build.process(client).communicates = true;
    CHECK(scene.join(client).holder_pid == 0);
    CHECK(scene.build.says(client).find("the store of MASTER_PORT") != std::string_view::npos);
  }
  SECTION("of a thread that is in code of the program, which has a server of its own there") {
    auto& process = scene.build.process(client);
    process.communicates = true;
    const auto in = [&](std::string_view file) {
      snapshot::Frame frame;
      frame.function = tables.string("recv");
      frame.file = tables.string(file);
      snapshot::Stack stack;
      stack.frames = {tables.frame(frame)};
      process.threads[0].samples.edit(0).stack = tables.stack(stack);
    };
    in("/usr/lib/python3.11/http/client.py");
    CHECK(scene.join(client).holder_pid == 20);
    in("/v/torch/lib/libtorch_cpu.so");
    scene.build.wait(client).holder_pid = 0;
    CHECK(scene.join(client).holder_pid == 0);
  }
  SECTION("of any other process, which has a server of its own there") {
    CHECK(scene.join(client).holder_pid == 20);
  }
}

// A client of ZeroMQ: its thread sleeps until the I/O thread wakes it, which has these connections.
struct MessageQueue : Sockets {
  std::size_t client = 0;

  explicit MessageQueue(std::initializer_list<const char*> connections) {
    client = add_socket(10, 702);
    node.ends.push_back({703, true, true, true, client, 10});
    add_socket(20, 701);
    auto& threads = build.process(client).threads;
    snapshot::Frame frame;
    frame.function = build.capture.tables.string("zmq_msg_recv");
    frame.file = build.capture.tables.string("/v/lib/pyzmq.libs/libzmq-2f02442c.so.5.2.5");
    snapshot::Stack stack;
    stack.frames = {build.capture.tables.frame(frame)};
    threads[0].samples.edit(0).stack = build.capture.tables.stack(stack);
    threads[0].wait.syscall_name = build.capture.tables.string("poll");
    threads[0].wait.path = build.capture.tables.string("anon_inode:[eventfd]");
    snapshot::ThreadCapture io = threads[0];
    io.tid = 11;
    io.name = build.capture.tables.string("ZMQbg/IO/0");
    io.wait.path = {};
    for (const char* each : connections) {
      io.wait.rare.edit().awaited.emplace_back().link = build.capture.tables.string(each);
    }
    io.wait.rare.edit().awaited_count = io.wait.rare->awaited.size();
    threads.push_back(io);
  }
};

TEST_CASE("a program that receives from ZeroMQ waits for the peer of the library's connections") {
  MessageQueue one({"socket:[702]"});
  CHECK(one.join(one.client).holder_pid == 20);
  CHECK(one.build.wait(one.client).on == WaitOn::kSocket);
  CHECK(one.build.wait(one.client).inferred);
  MessageQueue other_node({"socket:[702]", "socket:[703]"});
  CHECK(other_node.join(other_node.client).holder_pid == 0);
  MessageQueue two({"socket:[702]", "socket:[9702]"});
  two.add(30, false, false);
  two.node.local_sockets[9702] = {9701, false};
  two.node.ends.push_back({9701, true, true, true, 2, 30});
  CHECK(two.join(two.client).holder_pid == 0);
  MessageQueue many({"socket:[702]", "socket:[1]", "socket:[2]", "socket:[3]", "socket:[4]",
                     "socket:[5]", "socket:[6]", "socket:[7]"});
  CHECK(many.join(many.client).holder_pid == 0);
}

TEST_CASE("a program whose ZeroMQ listens waits for whoever sends first") {
  MessageQueue bound({"socket:[702]", "socket:[9800]"});
  bound.node.local_sockets[9800] = {0, true};
  const auto& wait = bound.join(bound.client);
  CHECK(wait.holder_pid == 0);
  CHECK(wait.how == snapshot::WaitHow::kFiles);
  REQUIRE(wait.rare->awaited.size() == 2);
  CHECK(wait.rare->awaited[0].holder_pid == 20);
  CHECK(wait.rare->awaited[1].listens());
}

}  // namespace
}  // namespace oddrank::waits
