#include "attach/proc_view.h"

#include "tests/support/catch.h"

namespace oddrank::attach {

TEST_CASE("a /proc that hides processes is told from one that shows them", "[attach]") {
  const char* const plain =
      "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n22 1 0:21 / /proc rw - proc proc rw\n";
  CHECK(hidden_processes(plain, false).empty());
  const char* const hiding =
      "22 1 0:21 / /proc rw,nosuid shared:5 - proc proc rw,hidepid=2,gid=7\n";
  CHECK(hidden_processes(hiding, false) ==
        "/proc hides the processes of other users: it is mounted with hidepid=2");
  CHECK(hidden_processes(hiding, true).empty());
  CHECK(hidden_processes("22 1 0:21 / /proc rw - proc proc rw,hidepid=invisible\n", false)
            .find("invisible") != std::string::npos);
  CHECK(hidden_processes("22 1 0:21 / /proc rw - proc proc rw,hidepid=1\n", false).empty());
  CHECK(hidden_contents("22 1 0:21 / /proc rw - proc proc rw,hidepid=noaccess\n", false) ==
        "/proc shows other users' processes by their pids only: it is mounted with "
        "hidepid=noaccess");
  CHECK(hidden_contents("22 1 0:21 / /proc rw - proc proc rw,hidepid=1\n", true).empty());
  CHECK(hidden_contents(hiding, false) == hidden_processes(hiding, false));
  CHECK(hidden_contents(plain, false).empty());
}

TEST_CASE("the mount on top of /proc counts", "[attach]") {
  CHECK(hidden_processes("1 0 8:1 / / rw - ext4 /dev/sda1 rw\n", true) ==
        "/proc is not mounted here");
  const char* const covered =
      "22 1 0:21 / /proc rw - proc proc rw\n23 22 0:50 / /proc rw - tmpfs none rw\n";
  CHECK(hidden_processes(covered, true).find("not the kernel's") != std::string::npos);
}

}  // namespace oddrank::attach
