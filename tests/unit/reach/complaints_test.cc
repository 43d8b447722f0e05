#include "reach/complaints.h"

#include "tests/support/catch.h"

namespace oddrank::reach {
namespace {

TEST_CASE("the first complaint of a program is a line without its level, and short") {
  CHECK(first_complaint("\n  \noddrank: error: no such job\nmore\n") == "no such job");
  CHECK(first_complaint("slurmstepd-n1: error: execve(): /x: No such file or directory\n") ==
        "execve(): /x: No such file or directory");
  CHECK(first_complaint("ranks of 2 jobs run here") == "ranks of 2 jobs run here");
  CHECK(first_complaint(std::string(5000, 'x')).size() == kMaxComplaint);
  CHECK(first_complaint("\n\n").empty());
}

TEST_CASE("the last line of a program is one that says something") {
  CHECK(last_line("a warning\nrefused \r\n\n") == "refused");
  CHECK(last_line("\n").empty());
}

}  // namespace
}  // namespace oddrank::reach
