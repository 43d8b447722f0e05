#include "slurm/hostlist.h"

#include "tests/support/catch.h"

namespace oddrank::slurm {
namespace {

using Hosts = std::vector<std::string>;

TEST_CASE("hosts are compressed as SLURM writes them") {
  CHECK(compress_hosts({}).empty());
  CHECK(compress_hosts({"n7"}) == "n7");
  CHECK(compress_hosts({"n0", "n1", "n2", "n3"}) == "n[0-3]");
  CHECK(compress_hosts({"n3", "n1", "n0", "n3"}) == "n[0-1,3]");
  CHECK(compress_hosts({"n9", "n10", "n11"}) == "n[9-11]");
  CHECK(compress_hosts({"n08", "n09", "n10"}) == "n[08-09],n10");
  CHECK(compress_hosts({"gpu1", "login", "gpu2"}) == "gpu[1-2],login");
}

TEST_CASE("hosts are expanded, with their zeros") {
  CHECK(expand_hosts("n[0-1,3]") == Hosts{"n0", "n1", "n3"});
  CHECK(expand_hosts("a,b[07-09],c") == Hosts{"a", "b07", "b08", "b09", "c"});
  CHECK(expand_hosts("r[1-2]-ib") == Hosts{"r1-ib", "r2-ib"});
  CHECK(expand_hosts("").empty());
}

TEST_CASE("hostile host lists are bounded and stay as they stand") {
  CHECK(expand_hosts("n[0-999999999]", 10).size() == 10);
  CHECK(expand_hosts("n[0-").size() == 1);
  CHECK(expand_hosts("n[5-2]") == Hosts{"n[5-2]"});
  CHECK(expand_hosts("n[x],m") == Hosts{"n[x]", "m"});
  CHECK(expand_hosts("n[],]").size() <= 2);
  CHECK(expand_hosts("n[99999999999999999999]") == Hosts{"n[99999999999999999999]"});
}

}  // namespace
}  // namespace oddrank::slurm
