#include "aggregate/hostlist.h"

#include "tests/support/catch.h"

namespace oddrank::aggregate {

using Hosts = std::vector<std::string>;

TEST_CASE("host names are folded as SLURM does it") {
  CHECK(compress_hosts({}).empty());
  CHECK(compress_hosts({"n0"}) == "n0");
  CHECK(compress_hosts({"n3", "n0", "n1", "n2"}) == "n[0-3]");
  CHECK(compress_hosts({"node01", "node02", "node03", "node04", "node07"}) == "node[01-04,07]");
  CHECK(compress_hosts({"n9", "n10", "n11"}) == "n[9-11]");
  CHECK(compress_hosts({"n08", "n09", "n10"}) == "n[08-10]");
  CHECK(compress_hosts({"n1", "n01"}) == "n[1,01]");
  CHECK(compress_hosts({"gpu3", "login", "gpu4"}) == "gpu[3-4],login");
  CHECK(compress_hosts({"r1n1.site", "r1n2.site", "r2n1.site"}) == "r1n[1-2].site,r2n1.site");
  CHECK(compress_hosts({"a123456789012"}) == "a123456789012");
}

TEST_CASE("folded hosts are unfolded") {
  CHECK(*expand_hosts("n[0-3]") == Hosts{"n0", "n1", "n2", "n3"});
  CHECK(*expand_hosts("node[01-02,07],login") == Hosts{"node01", "node02", "node07", "login"});
  CHECK(*expand_hosts("n[08-10].site") == Hosts{"n08.site", "n09.site", "n10.site"});
  CHECK(*expand_hosts("a, b") == Hosts{"a", "b"});
  CHECK(expand_hosts("")->empty());
}

TEST_CASE("folding and unfolding agree") {
  for (const Hosts& hosts : {Hosts{"n8", "n9", "n10"}, Hosts{"a001", "a002", "b7"}}) {
    Hosts back = *expand_hosts(compress_hosts(hosts));
    std::sort(back.begin(), back.end());
    Hosts sorted = hosts;
    std::sort(sorted.begin(), sorted.end());
    CHECK(back == sorted);
  }
}

TEST_CASE("bad host lists are refused") {
  for (const char* text : {"n[0-3", "n0-3]", "n[[0]]", "n[3-1]", "n[a-b]", "n[0]m[1]", "n[-1]"}) {
    INFO(text);
    const auto hosts = expand_hosts(text);
    REQUIRE_FALSE(hosts);
    CHECK(hosts.error().code == Errc::kBadData);
  }
  CHECK_FALSE(expand_hosts("n[0-4000000000]"));
  CHECK_FALSE(expand_hosts("n[0-9]", 9));
}

}  // namespace oddrank::aggregate
