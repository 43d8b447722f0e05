#include "waits/node/lost_servers.h"

#include "tests/support/catch.h"

namespace oddrank::waits {
namespace {

std::optional<ServerWord> word(const std::string& text) {
  return parse_server_word("5,1234,5678901,-;" + text + "\n");
}

TEST_CASE("what the kernel says of servers") {
  CHECK(word("nfs: server 10.0.0.7 not responding, still trying") ==
        ServerWord{"NFS server 10.0.0.7", false, 5678901});
  CHECK(word("nfs: server n7 not responding, timed out") ==
        ServerWord{"NFS server n7", false, 5678901});
  CHECK(word("nfs: server n7 OK") == ServerWord{"NFS server n7", true, 5678901});
  CHECK(word("lockd: server n7 not responding, still trying") ==
        ServerWord{"NFS lock server n7", false, 5678901});
  CHECK(word("ceph: mds0 hung") == ServerWord{"Ceph mds0", false, 5678901});
  CHECK(word("ceph: [3f2a-11 4711]: mds0 came back") == ServerWord{"Ceph mds0", true, 5678901});
  CHECK(word("Lustre: lfs-OST0003-osc-ff12: Connection to lfs-OST0003 (at 10.0.0.7@o2ib) was lost; "
             "in progress operations using this service will wait for recovery to complete") ==
        ServerWord{"Lustre target lfs-OST0003", false, 5678901});
  CHECK(
      word("Lustre: lfs-OST0003-osc-ff12: Connection restored to lfs-OST0003 (at 10.0.0.7@o2ib)") ==
      ServerWord{"Lustre target lfs-OST0003", true, 5678901});
}

TEST_CASE("other records, those of programs, and hostile ones say nothing of servers") {
  CHECK_FALSE(word("nfs: Deprecated parameter 'intr'"));
  CHECK_FALSE(word("nfs: server "));
  CHECK_FALSE(word("nfs: server  not responding"));
  CHECK_FALSE(word("nfs: server a b not responding"));
  CHECK_FALSE(word("nfs: server " + std::string(100, 'x') + " not responding"));
  CHECK_FALSE(word("ceph: mds0 reconnect success"));
  // 12 is a user's program's (LOG_USER), which may write what it likes if it is root's.
  CHECK_FALSE(parse_server_word("12,1234,5678901,-;nfs: server n7 not responding, still trying\n"));
  CHECK_FALSE(parse_server_word("nfs: server n7 not responding, still trying\n"));
  CHECK_FALSE(parse_server_word("5,1;nfs: server n7 not responding, still trying\n"));
  CHECK(word("nfs: server \x1b[2J OK")->server == "NFS server ?[2J");
}

TEST_CASE("servers that answer again are not lost, and the first complaint says since when") {
  const std::uint64_t minute = 60'000'000;
  const std::vector<ServerWord> words = {{"NFS server n7", false, minute},
                                         {"NFS server n8", false, minute},
                                         {"NFS server n7", false, 2 * minute},
                                         {"NFS server n8", true, 3 * minute}};
  CHECK(lost_servers(words, 6 * minute) ==
        std::vector<std::string>{"NFS server n7 has not responded for 5 min (kernel log)"});
  CHECK(lost_servers({}, minute).empty());
  CHECK(lost_servers({{"NFS server n7", false, 2 * minute}}, minute) ==
        std::vector<std::string>{"NFS server n7 has not responded for 0 s (kernel log)"});
  std::vector<ServerWord> many;
  for (int i = 10; i < 50; ++i) {
    many.push_back({"NFS server n" + std::to_string(i), false, minute});
  }
  REQUIRE(lost_servers(many, minute).size() == 5);
  CHECK(lost_servers(many, minute).back() == "36 more notes on lost servers");
}

}  // namespace
}  // namespace oddrank::waits
