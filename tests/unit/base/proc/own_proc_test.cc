#include "base/proc/own_proc.h"

#include "tests/support/catch.h"

namespace oddrank {

TEST_CASE("/proc is ours if it shows us under our own pid, and in no outer namespace") {
  CHECK(check_own_proc(5, "5", "Name:\toddrank\nNSpid:\t5\nThreads:\t1\n"));
  CHECK(check_own_proc(5, "5", "Name:\toddrank\n"));  // before Linux 4.1
  CHECK_FALSE(check_own_proc(5, "", ""));
  CHECK_FALSE(check_own_proc(5, "5", "NSpid:\t5\t5\n"));  // by chance
  const Status other = check_own_proc(5, "4711", "NSpid:\t4711\t5\n");
  REQUIRE_FALSE(other);
  CHECK(other.error().what ==
        "/proc is not that of our own pid namespace: this process, pid 5, is pid 4711 there");
  CHECK(other.error().hint.find("nsenter --mount --pid") != std::string::npos);
}

}  // namespace oddrank
