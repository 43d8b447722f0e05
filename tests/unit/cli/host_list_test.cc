#include "cli/host_list.h"

#include <string>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/scratch_folder.h"

namespace oddrank::cli {
namespace {

using Hosts = std::vector<std::string>;

TEST_CASE("host list: ranges, users and commas; each host once") {
  CHECK(*read_host_list({"n0,n2", "n[0-3,7]"}) == Hosts{"n0", "n2", "n1", "n3", "n7"});
  CHECK(*read_host_list({"eve@n1", "n1"}) == Hosts{"eve@n1", "n1"});
  CHECK(*read_host_list({"n[08-10]"}) == Hosts{"n08", "n09", "n10"});
}

TEST_CASE("host list: what is not one is an error of usage") {
  for (const std::string bad : {"", "n[0-", "n[3-1]", "-oProxyCommand=x", "n[0-99999999]"}) {
    INFO(bad);
    const auto hosts = read_host_list({bad});
    REQUIRE_FALSE(hosts);
    CHECK(hosts.error().code == Errc::kUsage);
  }
}

TEST_CASE("host list: a file has comments and MPI's slots") {
  const test::ScratchFolder folder;
  const std::string file = folder.put("hosts", "# rack 1\nn0 slots=8\n\nn[1-2] # spare\n");
  CHECK(*read_host_list({"@" + file}) == Hosts{"n0", "n1", "n2"});
  const auto missing = read_host_list({"@" + file + ".not"});
  REQUIRE_FALSE(missing);
  CHECK(missing.error().code == Errc::kNotFound);
}

}  // namespace
}  // namespace oddrank::cli
