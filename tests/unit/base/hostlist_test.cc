#include "base/hostlist.h"

#include <algorithm>

#include "tests/support/catch.h"

namespace oddrank {
namespace {

using Hosts = std::vector<std::string>;

// The expected texts are those of `scontrol show hostlistsorted` (22.05).
TEST_CASE("compress_hosts folds as scontrol does") {
  CHECK(compress_hosts({}).empty());
  CHECK(compress_hosts({"n7"}) == "n7");
  CHECK(compress_hosts({"n3", "n0", "n1", "n2"}) == "n[0-3]");
  CHECK(compress_hosts({"n7", "n0", "n1"}) == "n[0-1,7]");
  CHECK(compress_hosts({"n10", "n9", "n2"}) == "n[2,9-10]");
  CHECK(compress_hosts({"r1n2", "r1n1", "r2n1"}) == "r1n[1-2],r2n1");
  CHECK(compress_hosts({"n-1", "n-2"}) == "n-[1-2]");
  CHECK(compress_hosts({"5", "6"}) == "[5-6]");
  CHECK(compress_hosts({"a12345678901", "a12345678902"}) == "a[12345678901-12345678902]");
}

TEST_CASE("compress_hosts keeps leading zeros") {
  CHECK(compress_hosts({"n08", "n09", "n10"}) == "n[08-10]");
  CHECK(compress_hosts({"n099", "n100"}) == "n[099-100]");
  CHECK(compress_hosts({"n99", "n100"}) == "n[99-100]");
  CHECK(compress_hosts({"n1", "n01"}) == "n[1,01]");
  CHECK(compress_hosts({"n9", "n09", "n10"}) == "n[9,09-10]");
  CHECK(compress_hosts({"n008", "n09"}) == "n[09,008]");
  CHECK(compress_hosts({"n1", "n2", "n001", "n002", "n01", "n02"}) == "n[1-2,01-02,001-002]");
  CHECK(compress_hosts({"n1", "n01", "n10", "n010"}) == "n[1,01,10,010]");
}

TEST_CASE("compress_hosts sorts names with a number and without") {
  CHECK(compress_hosts({"z1", "a1"}) == "a1,z1");
  CHECK(compress_hosts({"gpu3", "alpha", "gpu4", "zeta"}) == "alpha,gpu[3-4],zeta");
  CHECK(compress_hosts({"n2", "n", "n1"}) == "n,n[1-2]");
  CHECK(compress_hosts({"n1", "n2.site", "n3"}) == "n[1,3],n2.site");
}

TEST_CASE("compress_hosts goes beyond scontrol") {
  CHECK(compress_hosts({"n3", "n1", "n0", "n3"}) == "n[0-1,3]");  // scontrol: "n[0-1,3,3]"
  CHECK(compress_hosts({"r1n1.site", "r1n2.site", "r2n1.site"}) == "r1n[1-2].site,r2n1.site");
  const std::string nines(30, '9');
  CHECK(compress_hosts({nines, "n" + nines}) == nines + ",n" + nines);
}

TEST_CASE("expand_hosts reads what scontrol reads") {
  CHECK(*expand_hosts("n[0-1,3]") == Hosts{"n0", "n1", "n3"});
  CHECK(*expand_hosts("node[01-02,07],login") == Hosts{"node01", "node02", "node07", "login"});
  CHECK(*expand_hosts("n[008-10]") == Hosts{"n008", "n009", "n010"});
  CHECK(*expand_hosts("n[98-100]") == Hosts{"n98", "n99", "n100"});
  CHECK(*expand_hosts("n[1-03]") == Hosts{"n1", "n2", "n3"});
  CHECK(*expand_hosts("n[1,1]") == Hosts{"n1", "n1"});
  CHECK(*expand_hosts("n[0-1]m[1-2]") == Hosts{"n0m1", "n0m2", "n1m1", "n1m2"});
  CHECK(*expand_hosts("[1-2]") == Hosts{"1", "2"});
  CHECK(*expand_hosts("a, b\tc") == Hosts{"a", "b", "c"});
  CHECK(*expand_hosts(",a,,b") == Hosts{"a", "b"});
  CHECK(*expand_hosts("n3-5") == Hosts{"n3-5"});
  CHECK(expand_hosts("")->empty());
}

TEST_CASE("expand_hosts reads a suffix, which scontrol does not") {
  CHECK(*expand_hosts("n[08-10].site") == Hosts{"n08.site", "n09.site", "n10.site"});
  CHECK(*expand_hosts("r[1-2]-ib") == Hosts{"r1-ib", "r2-ib"});
}

TEST_CASE("expand_hosts and compress_hosts agree") {
  for (Hosts hosts : {Hosts{"n10", "n8", "n9"}, Hosts{"a001", "a002", "b7"},
                      Hosts{"n01", "n1", "n10", "n9"}, Hosts{"x1.a", "x2.a", "y"}}) {
    Hosts back = *expand_hosts(compress_hosts(hosts));
    std::sort(back.begin(), back.end());
    CHECK(back == hosts);
  }
}

TEST_CASE("expand_hosts refuses text that is no list") {
  for (const char* text : {"n[0-3", "n0-3]", "n[[0]]", "n[3-1]", "n[a-b]", "n[x],m", "n[-1]", "n[]",
                           "n[1-]", "n[1,,2]", "n[1,]", "n[1 , 2]", "n[99999999999999999999]"}) {
    INFO(text);
    const auto hosts = expand_hosts(text);
    REQUIRE_FALSE(hosts);
    CHECK(hosts.error().code == Errc::kBadData);
  }
  CHECK(expand_hosts("n[3-1]").error().what == "not a list of hosts: '3-1': not a range");
  CHECK(expand_hosts("n[\x1b").error().what ==
        "not a list of hosts: 'n[?': its brackets do not match");
}

TEST_CASE("expand_hosts is bounded") {
  CHECK(expand_hosts("n[0-65535]")->size() == 65536);
  CHECK(expand_hosts("n[0-65536]").error().what ==
        "not a list of hosts: 'n[0-65536]': more than 65536 hosts in one list");
  CHECK_FALSE(expand_hosts("n[0-999999999999999999]"));
  CHECK_FALSE(expand_hosts("a[0-999]b[0-999]"));
  CHECK_FALSE(expand_hosts("n[0-9]", 9));
  CHECK_FALSE(expand_hosts("a,b,c", 2));
  CHECK(expand_hosts("a,b", 2));
  CHECK_FALSE(expand_hosts(std::string(256, 'n')));
  std::string pairs = "n";
  for (int i = 0; i < 10000; ++i) {
    pairs += "[0]";
  }
  CHECK_FALSE(expand_hosts(pairs));
}

}  // namespace
}  // namespace oddrank
