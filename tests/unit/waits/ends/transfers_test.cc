// Rows of the kernel's table, and what is read in them.
#include "waits/ends/transfers.h"

#include "tests/support/catch.h"
#include "tests/unit/waits/capture_builder.h"

namespace oddrank::waits {
namespace {

using snapshot::Transfer;
using snapshot::TransferTrouble;

// From a link that had been cut for 7 s: five tries, the sixth one 5.7 s away, of 6.5 s.
constexpr const char* kTroubledTable =
    "  0: 0B03610A:9579 0C03610A:CEE6 01 00000060:00000000 01:0000023E 00000005 0 0 11 2 0 652 4 1 "
    "1 -1\n"
    "  1: 0B03610A:9579 0D03610A:E042 01 00000000:00000000 00:00000000 00000000 0 0 12 1 0 20 4 30 "
    "10 -1\n"
    "  2: 0B03610A:AE2E 0A03610A:ADBF 01 00000060:00000000 01:00000010 00000001 0 0 13 2 0 40 4 1 "
    "1 -1\n"
    "  3: 0B03610A:AE2F 0A03610A:ADC0 01 00020000:00000000 04:00000100 00000000 0 0 14 2 0 20 4 1 "
    "1 -1\n"
    "  4: 0B03610A:AE30 0A03610A:0050 02 00000001:00000000 01:00000100 00000003 0 0 15 2 0 800 0 0 "
    "1 -1\n";

SocketTable table() {
  SocketTable rows;
  rows.add(kTroubledTable);
  return rows;
}

TEST_CASE("in trouble is what is sent again and again, or not taken; neither rest nor one loss") {
  const SocketTable rows = table();
  CHECK(is_in_trouble(*rows.by_inode(11)));
  CHECK_FALSE(is_in_trouble(*rows.by_inode(12)));
  CHECK_FALSE(is_in_trouble(*rows.by_inode(13)));
  CHECK(is_in_trouble(*rows.by_inode(14)));
  CHECK(is_in_trouble(*rows.by_inode(15)));
}

TEST_CASE("the age of the first of several tries") {
  SocketRow row = *table().by_inode(11);
  CHECK(row.rto_ms == 6520);
  CHECK(row.expires_ms == 5740);
  // 780 ms of this try, and 3260 + 1630 + 815 + 407 + 203 before it
  CHECK(unanswered_ms(row) == 7095);
  row.expires_ms = 99'999;  // more than it runs: of no use
  CHECK(unanswered_ms(row) == 6315);
  row.tries = 1'000'000;
  CHECK(unanswered_ms(row) < 6520);
  row.rto_ms = 0;
  CHECK(unanswered_ms(row) == -1);
  SocketRow connects = *table().by_inode(15);
  connects.rto_ms = 2000;
  connects.expires_ms = 1500;
  connects.tries = 5;
  CHECK(unanswered_ms(connects) == 5500);
}

struct TroubledNode {
  CaptureBuilder build;
  NodeEnds node;

  TroubledNode() {
    node.sockets.push_back(table());
    add(100, {11, 12, 14, 15});
  }
  void add(pid_t pid, const std::vector<std::uint64_t>& sockets) {
    const std::size_t index = build.add(pid, 1, {});
    node.namespace_of.push_back(0);
    for (const std::uint64_t inode : sockets) {
      node.ends.push_back({inode, true, true, true, index, pid});
    }
  }
  auto& transfers() {
    add_transfers(node, build.capture);
    return build.process(0).transfers;
  }
  std::string_view text(snapshot::StringId id) { return build.capture.tables.text(id); }
};

TEST_CASE("each connection in trouble is a transfer of its process, once") {
  TroubledNode scene;
  scene.node.ends.push_back(scene.node.ends.front());  // a duplicate of the descriptor
  scene.node.routes[0].add_v4("eth7 0003610A 00000000 0001 0 0 0 00FFFFFF 0 0 0\n");
  const auto& found = scene.transfers();
  REQUIRE(found.size() == 3);
  const Transfer& lost = found.begin()[0];
  CHECK(scene.text(lost.local) == "10.97.3.11:38265");
  CHECK(scene.text(lost.peer) == "10.97.3.12:52966");
  CHECK(scene.text(lost.device) == "eth7");
  CHECK(lost.trouble == TransferTrouble::kUnanswered);
  CHECK(lost.tries == 5);
  CHECK(lost.age_ms == 7095);
  CHECK(lost.unsent == 96);
  CHECK(lost.acknowledged == -1);
  CHECK(lost.peer_pid == 0);
  CHECK(found.begin()[1].trouble == TransferTrouble::kNotTaken);
  CHECK(found.begin()[1].age_ms == -1);
  CHECK(found.begin()[2].connecting);
}

TEST_CASE("what the kernel tells of a connection beside the table") {
  TroubledNode scene;
  scene.node.tcp[11] = {100, 200, 13'000, 4711, 96};
  scene.node.tcp[14] = {64'000, 100, 204, 1, 2};
  const auto& found = scene.transfers();
  CHECK(found.begin()[0].acknowledged == 4711);
  CHECK(found.begin()[0].received == 96);
  CHECK(found.begin()[0].age_ms > 13'000);
  CHECK(found.begin()[1].age_ms == 64'000);  // since it last sent anything
}

TEST_CASE("the process that has the other end, in the same network") {
  TroubledNode scene;
  scene.node.sockets[0].add(
      "  9: 0C03610A:CEE6 0B03610A:9579 01 00000000:00000000 00:00000000 00000000 0 0 21 1 0 20 4 "
      "1 1 -1\n");
  scene.add(200, {21});
  CHECK(scene.transfers().begin()[0].peer_pid == 200);
  CHECK(scene.build.process(1).transfers.empty());
}

TEST_CASE("no more transfers of a process than a capture may hold") {
  TroubledNode scene;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    SocketRow row = *table().by_inode(11);
    row.inode = 1000 + i;
    row.peer = "10.0.0.1:" + std::to_string(i);
    scene.node.sockets[0].add(row);
    scene.node.ends.push_back({row.inode, true, true, true, 0, 100});
  }
  CHECK(scene.transfers().size() == 256);
}

}  // namespace
}  // namespace oddrank::waits
