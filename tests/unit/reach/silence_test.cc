#include "reach/silence.h"

#include "tests/support/catch.h"

namespace oddrank::reach {
namespace {

using std::chrono::milliseconds;

TEST_CASE("a silent node's reason is the most telling one") {
  Silence silence;
  silence.timeout = milliseconds(20000);
  CHECK(why_silent(silence) == "node did not answer in 20 s");
  silence.of_all = "srun: Requested nodes are busy";
  CHECK(why_silent(silence) == "srun: Requested nodes are busy; node did not answer in 20 s");
  silence.known = "SLURM says: down (bad dimm)";
  CHECK(why_silent(silence) ==
        "srun: Requested nodes are busy; node did not answer in 20 s; "
        "SLURM says: down (bad dimm)");
  silence.known.clear();
  silence.heard = true;
  CHECK(why_silent(silence) == "its agent started but did not answer in 20 s");
  silence.ended = "srun ended after 0.1 s";
  CHECK(why_silent(silence) == "srun ended after 0.1 s");
  silence.not_started = "SLURM could not start an agent there: Communication connection failure";
  CHECK(why_silent(silence) ==
        "SLURM could not start an agent there: Communication connection failure");
  silence.exit = "Exited with exit code 2";
  silence.complaint = "execve(): /no/such: No such file or directory";
  CHECK(why_silent(silence) ==
        "its agent ended without an answer: Exited with exit code 2 "
        "(execve(): /no/such: No such file or directory)");
  silence.no_copy_runs = true;
  CHECK(why_silent(silence) ==
        "oddrank is not there, and no copy of it could be run: Exited with exit code 2 "
        "(execve(): /no/such: No such file or directory)");
  silence.received = 12;
  silence.total = 300;
  CHECK(why_silent(silence) == "its answer arrived incomplete: 12 of 300 pieces");
}

TEST_CASE("an interrupt is not blamed on the node") {
  Silence silence;
  silence.interrupted = true;
  silence.ended = "srun ended after 0.1 s";
  CHECK(why_silent(silence) == "interrupted before its agent started");
  silence.heard = true;
  CHECK(why_silent(silence) == "interrupted while its agent was reading");
}

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
