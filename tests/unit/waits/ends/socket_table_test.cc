#include "waits/ends/socket_table.h"

#include "tests/support/catch.h"

namespace oddrank::waits {
namespace {

constexpr const char* kTcpTable =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout "
    "inode\n"
    "   0: 0100007F:733C 00000000:0000 0A 00000000:00000000 00:00000000 00000000  0  0 700 1 0 "
    "100\n"
    "   1: 0100007F:733C 0100007F:C350 01 00000000:00000005 00:00000000 00000000  0  0 701 1 0 20\n"
    "   2: 0100007F:C350 0100007F:733C 01 00000010:00000000 00:00000000 00000000  0  0 702 1 0 20\n"
    "   3: 0200000A:1F90 0300000A:0050 02 00000001:00000000 01:00000000 00000000  0  0 703 2 0 "
    "20\n";
constexpr const char* kTcp6 =
    "   0: 0000000000000000FFFF00000100007F:0016 0000000000000000FFFF00000100007F:C351 01 "
    "00000000:00000000 00:00000000 00000000 0 0 800 1\n"
    "   1: 000080FE000000000000000001000000:0050 00000000000000000000000000000000:0000 0A "
    "00000000:00000000 00:00000000 00000000 0 0 801 1\n";

TEST_CASE("rows have addresses as people write them") {
  SocketTable table;
  table.add(kTcpTable);
  table.add(kTcp6);
  CHECK(table.size() == 6);
  REQUIRE(table.by_inode(703) != nullptr);
  CHECK(table.by_inode(703)->local == "10.0.0.2:8080");
  CHECK(table.by_inode(703)->peer == "10.0.0.3:80");
  CHECK(table.by_inode(703)->state == static_cast<std::uint8_t>(SocketState::kSynSent));
  CHECK(table.by_inode(701)->unread == 5);
  CHECK(table.by_inode(702)->unsent == 16);
  CHECK(table.by_inode(800)->local == "127.0.0.1:22");
  CHECK(table.by_inode(801)->local == "[fe80::1]:80");
  CHECK(table.by_inode(999) == nullptr);
}

TEST_CASE("the other end has the addresses swapped") {
  SocketTable table;
  table.add(kTcpTable);
  const SocketRow* other = table.other_end(*table.by_inode(702));
  REQUIRE(other != nullptr);
  CHECK(other->inode == 701);
  CHECK(table.other_end(*table.by_inode(703)) == nullptr);
}

TEST_CASE("lines that are no rows are left out") {
  SocketTable table;
  table.add("");
  table.add("0: x y z\n 1: 0100007F:733C 00000000 0A 0:0 0 0 0 0 7\n");
  table.add("0: 0100007F:FFFFF 00000000:0000 0A 0:0 00:0 0 0 0 7\n");
  table.add("0: 01:1 00000000:0000 0A 0:0 00:0 0 0 0 7\n");
  CHECK(table.size() == 0);
}

}  // namespace
}  // namespace oddrank::waits
