#include "waits/cgroups.h"

#include <string>
#include <string_view>

#include "tests/support/catch.h"

namespace oddrank::waits {
namespace {

// Both versions, as many machines have them.
constexpr std::string_view kBoth =
    "30 23 0:25 / /sys/fs/cgroup ro,nosuid shared:9 - tmpfs tmpfs ro,mode=755\n"
    "31 30 0:26 / /sys/fs/cgroup/unified rw shared:10 - cgroup2 cgroup2 rw,nsdelegate\n"
    "32 30 0:27 / /sys/fs/cgroup/cpu,cpuacct rw shared:11 - cgroup cgroup rw,cpu,cpuacct\n"
    "33 30 0:28 / /sys/fs/cgroup/memory rw shared:12 - cgroup cgroup rw,memory\n"
    "34 30 0:29 / /sys/fs/cgroup/freezer rw shared:13 - cgroup cgroup rw,freezer\n";

TEST_CASE("the folder of a controller's cgroup, in both versions") {
  const std::string members = "4:memory:/job\n3:freezer:/\n1:cpu,cpuacct:/x\n0::/slurm/job_7\n";
  CHECK(cgroup_folder(members, kBoth, "memory") == "/sys/fs/cgroup/memory/job");
  CHECK(cgroup_folder(members, kBoth, "cpu") == "/sys/fs/cgroup/cpu,cpuacct/x");
  CHECK(cgroup_folder(members, kBoth, "freezer") == "/sys/fs/cgroup/freezer");
  CHECK(cgroup_folder(members, kBoth, "io") == "/sys/fs/cgroup/unified/slurm/job_7");
}

TEST_CASE("a hierarchy that is mounted from below its root, as in containers") {
  const std::string inside = "40 23 0:26 /box /sys/fs/cgroup rw - cgroup2 cgroup rw\n";
  CHECK(cgroup_folder("0::/box/job\n", inside, "memory") == "/sys/fs/cgroup/job");
  CHECK(cgroup_folder("0::/box\n", inside, "memory") == "/sys/fs/cgroup");
  CHECK(cgroup_folder("0::/boxes/job\n", inside, "memory").empty());
}

TEST_CASE("a cgroup that cannot be seen from here has no folder") {
  CHECK(cgroup_folder("0::/../../other\n", kBoth, "memory").empty());
  CHECK(cgroup_folder("9:hugetlb:/x\n", kBoth, "hugetlb").empty());
  CHECK(cgroup_folder("0::/job\n", "", "memory").empty());
  CHECK(cgroup_folder("nonsense\n:\n1:\n", kBoth, "memory").empty());
  CHECK(cgroup_folder("", kBoth, "memory").empty());
}

TEST_CASE("version 2 tells whether it is frozen among its events") {
  CHECK(state_of_events("populated 1\nfrozen 1\n") == "FROZEN");
  CHECK(state_of_events("populated 1\nfrozen 0\n") == "THAWED");
  CHECK(state_of_events("populated 1\n").empty());
  CHECK(state_of_events("").empty());
}

TEST_CASE("no process has no freezer") {
  CHECK(freezer_state(1 << 23).empty());
}

}  // namespace
}  // namespace oddrank::waits
