// Discovery on real process trees. Other jobs may run on this machine: each test reads only its own
// job, identified by an address that no other job has.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "attach/proc_stat.h"
#include "base/parse_number.h"
#include "base/split.h"
#include "ranks/discover.h"
#include "ranks/process_facts.h"
#include "tests/support/catch.h"
#include "tests/support/victim.h"

using oddrank::Errc;
using oddrank::ranks::discover;
using oddrank::ranks::DiscoverOptions;
using oddrank::snapshot::Capture;
using oddrank::snapshot::ProcessCapture;
using oddrank::test::Victim;
using oddrank::test::victim_path;
using oddrank::test::VictimOptions;

namespace {

// Returns the address of this test's job: "oddrank-test-PID-N:1".
std::string new_address() {
  static int count = 0;
  return "oddrank-test-" + std::to_string(::getpid()) + "-" + std::to_string(++count);
}

VictimOptions job_of(const std::string& address) {
  VictimOptions options;
  options.environment = {{"MASTER_ADDR", address},
                         {"MASTER_PORT", "1"},
                         {"WORLD_SIZE", "2"},
                         {"LOCAL_WORLD_SIZE", "2"},
                         {"B", victim_path("blocked")}};
  return options;
}

Victim start(const std::vector<std::string>& command, const VictimOptions& options) {
  auto victim = Victim::start(command, options);
  REQUIRE(victim);
  return *std::move(victim);
}

// Returns the pid that "ready ADDRESS VALUE PID" names.
pid_t ready_pid(Victim& victim) {
  const auto line = victim.wait_line("ready");
  REQUIRE(line);
  const auto words = oddrank::split_blanks(*line);
  REQUIRE(words.size() == 3);
  return oddrank::parse_number<pid_t>(words[2]).value();
}

Capture found(const DiscoverOptions& options = {}) {
  Capture capture;
  capture.nodes.emplace_back();
  REQUIRE(discover(options, capture));
  return capture;
}

std::vector<ProcessCapture> rows_of(const Capture& capture, const std::string& address) {
  std::vector<ProcessCapture> rows;
  std::copy_if(capture.processes.begin(), capture.processes.end(), std::back_inserter(rows),
               [&](const ProcessCapture& process) {
                 return capture.tables.text(process.job_key) == address + ":1";
               });
  return rows;
}

DiscoverOptions only(pid_t pid) {
  DiscoverOptions options;
  options.pids = {pid};
  return options;
}

}  // namespace

TEST_CASE("bash and its ranks, one with a forked child") {
  const std::string address = new_address();
  Victim bash =
      start({"bash", "-c", "RANK=0 $B child & RANK=1 LOCAL_RANK=1 $B pause --token=abc & wait"},
            job_of(address));
  const pid_t one = ready_pid(bash);
  const pid_t other = ready_pid(bash);

  const Capture capture = found();
  const auto rows = rows_of(capture, address);
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].rank == 0);
  CHECK(rows[0].is_rank);
  CHECK(rows[0].parent == bash.pid());
  CHECK(rows[0].owner == rows[0].pid);
  CHECK(rows[0].world_size == 2);
  CHECK(rows[0].start_us > 0);
  CHECK(capture.tables.text(rows[0].name) == "blocked");
  CHECK(capture.tables.text(rows[0].executable) == victim_path("blocked"));
  CHECK_FALSE(rows[1].is_rank);
  CHECK(rows[1].owner == rows[0].pid);
  CHECK(rows[1].parent == rows[0].pid);
  CHECK(rows[2].is_rank);
  CHECK(rows[2].rank == 1);
  CHECK(rows[2].local_rank == 1);
  // "child" names its child, "pause" itself; either may come first.
  CHECK(std::min(one, other) == std::min(rows[1].pid, rows[2].pid));
  CHECK(std::max(one, other) == std::max(rows[1].pid, rows[2].pid));

  CHECK(capture.tables.text(rows[2].command) == victim_path("blocked") + " pause --token=***");
  for (const auto& [name, value] : rows[2].environment) {
    CHECK(capture.tables.text(name) != "B");
    CHECK(capture.tables.text(name) != "PATH");
  }
}

TEST_CASE("a launcher's children are ranks, and a dead one is recognised by its siblings") {
  const std::string address = new_address();
  // `sleep` under a launcher's name: unlike a shell it does not reap its children.
  Victim launcher = start({"bash", "-c",
                           "RANK=0 LOCAL_RANK=0 $B pause & RANK=1 LOCAL_RANK=1 $B exit <&0 & "
                           "exec -a torchrun sleep 1000"},
                          job_of(address));
  const pid_t one = ready_pid(launcher);
  const pid_t other = ready_pid(launcher);
  const auto environment = oddrank::attach::read_proc_environ(one);
  REQUIRE(environment);
  const pid_t dead = environment->get("RANK") == "1" ? one : other;
  const auto deadline = Victim::soon();
  while (oddrank::attach::read_proc_stat(launcher.pid())->name != "sleep") {
    REQUIRE_FALSE(deadline.passed());
  }
  launcher.close_stdin();  // rank 1 reads this: it exits with status 1
  REQUIRE(launcher.wait_state("Z", dead));
  const Capture capture = found();
  const auto rows = rows_of(capture, address);
  REQUIRE(rows.size() == 2);
  const ProcessCapture& row = rows[1];
  CHECK(row.rank == 1);
  CHECK(row.is_rank);
  CHECK(row.pid == dead);
  CHECK(row.parent == launcher.pid());
  CHECK(row.state == 'Z');
  CHECK(WIFEXITED(row.exit_code));
  CHECK(WEXITSTATUS(row.exit_code) == 1);
}

TEST_CASE("a dead child of a rank keeps its exit code") {
  const std::string address = new_address();
  VictimOptions options = job_of(address);
  options.environment.emplace_back("RANK", "0");
  Victim rank = start({victim_path("blocked"), "zombie"}, options);
  const pid_t child = ready_pid(rank);
  REQUIRE(rank.wait_state("Z", child));
  const Capture capture = found();
  const auto rows = rows_of(capture, address);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].pid == rank.pid());
  CHECK(rows[1].pid == child);
  CHECK(rows[1].owner == rank.pid());
  CHECK(rows[1].state == 'Z');
  CHECK(WEXITSTATUS(rows[1].exit_code) == 3);
  CHECK(capture.tables.text(rows[1].why).find("zombie") != std::string_view::npos);
}

TEST_CASE("a rank in state D is found") {
  const std::string address = new_address();
  VictimOptions options = job_of(address);
  options.environment.emplace_back("RANK", "1");
  Victim rank = start({victim_path("blocked"), "vfork"}, options);
  REQUIRE(rank.wait_line("ready"));
  REQUIRE(rank.wait_state("D"));
  const auto rows = rows_of(found(), address);
  REQUIRE_FALSE(rows.empty());
  CHECK(rows[0].pid == rank.pid());
  CHECK(rows[0].state == 'D');
}

TEST_CASE("a requested process need not be a rank") {
  Victim plain = start({victim_path("blocked"), "child"}, {});
  const pid_t child = ready_pid(plain);
  const Capture capture = found(only(plain.pid()));
  REQUIRE(capture.processes.size() == 2);
  CHECK(capture.processes[0].pid == plain.pid());
  CHECK(capture.processes[0].is_rank);
  CHECK(capture.processes[0].rank == -1);
  CHECK(capture.processes[1].pid == child);
  CHECK(capture.processes[1].owner == plain.pid());
}

TEST_CASE("a requested process that does not exist is an error with a hint") {
  Capture capture;
  const auto gone = discover(only(0x7ffffff0), capture);
  REQUIRE_FALSE(gone);
  CHECK(gone.error().code == Errc::kGone);
  CHECK(gone.error().what.find("does not exist") != std::string::npos);
  CHECK_FALSE(gone.error().hint.empty());
  CHECK(capture.processes.empty());

  Victim stuck = start({victim_path("blocked"), "zombie"}, {});
  const pid_t dead = ready_pid(stuck);
  REQUIRE(stuck.wait_state("Z", dead));
  CHECK(discover(only(dead), capture).error().code == Errc::kGone);

  // One of two exists: it is read, and a row of its own says what the other is.
  capture.nodes.emplace_back();
  DiscoverOptions both;
  both.pids = {stuck.pid(), 0x7ffffff0};
  REQUIRE(discover(both, capture));
  REQUIRE(capture.processes.size() == 3);
  const auto& absent = capture.processes.back();
  CHECK(absent.pid == 0x7ffffff0);
  CHECK(capture.tables.text(absent.why).find("does not exist") != std::string::npos);
}

TEST_CASE("the requested job is found by Slurm's variables") {
  VictimOptions options;
  const std::string job = std::to_string(100000000 + ::getpid());
  options.environment = {{"SLURM_JOB_ID", job},        {"SLURM_STEP_ID", "0"},
                         {"SLURM_PROCID", "1"},        {"SLURM_LOCALID", "0"},
                         {"SLURM_NTASKS", "2"},        {"SLURM_GTIDS", "1"},
                         {"B", victim_path("blocked")}};
  Victim task = start({"bash", "-c", "$B pause; true"}, options);
  const pid_t pid = ready_pid(task);
  DiscoverOptions wanted;
  wanted.slurm_job = job;
  const Capture capture = found(wanted);
  REQUIRE(capture.processes.size() == 1);
  CHECK(capture.processes[0].pid == pid);
  CHECK(capture.processes[0].rank == 1);
  CHECK(capture.tables.text(capture.processes[0].job_key) == "slurm " + job + ".0");
  CHECK(capture.nodes[0].expected_ranks == std::vector<std::int32_t>{1});
  wanted.slurm_step = "1";
  CHECK(found(wanted).processes.empty());
}

// Processes 1, 2, … in these states.
std::vector<oddrank::ranks::ProcessFacts> processes_in(std::string_view states) {
  std::vector<oddrank::ranks::ProcessFacts> all(states.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].stat.pid = static_cast<pid_t>(i + 1);
    all[i].stat.state = states[i];
  }
  return all;
}

TEST_CASE("a process that does not answer delays no other") {
  using oddrank::attach::Environment;
  using oddrank::ranks::FactsRead;
  using oddrank::ranks::ProcessFacts;
  std::vector<ProcessFacts> all = processes_in("SSSZ");
  const auto details = [](ProcessFacts& facts) {
    while (facts.stat.pid == 2) {
      ::pause();
    }
    facts.read = FactsRead::kRead;
    facts.arguments = {"a", "", "b"};
    facts.environment = Environment(std::vector<Environment::Entry>{{"RANK", "1"}});
  };
  oddrank::ranks::read_details_of(all, {details, [](const ProcessFacts&) { return true; }});
  CHECK(all[0].read == FactsRead::kRead);
  CHECK(all[1].read == FactsRead::kBlocked);
  CHECK(all[2].read == FactsRead::kRead);
  CHECK(all[2].arguments == std::vector<std::string>{"a", "", "b"});
  CHECK(all[2].environment.get("RANK") == "1");
  CHECK(all[3].read == FactsRead::kNone);
}

TEST_CASE("a process whose libraries take too long keeps its variables, and delays no other") {
  using oddrank::attach::Environment;
  using oddrank::ranks::FactsRead;
  using oddrank::ranks::ProcessFacts;
  std::vector<ProcessFacts> all = processes_in("SSS");
  const auto details = [](ProcessFacts& facts) {
    facts.read = FactsRead::kRead;
    facts.environment = Environment(std::vector<Environment::Entry>{{"RANK", "1"}});
  };
  const auto loaded = [](const ProcessFacts& facts) {
    while (facts.stat.pid == 2) {
      ::pause();
    }
    return true;
  };
  oddrank::ranks::read_details_of(all, {details, loaded});
  for (const ProcessFacts& facts : all) {
    INFO(facts.stat.pid);
    CHECK(facts.read == FactsRead::kRead);
    CHECK(facts.environment.get("RANK") == "1");
    CHECK(facts.loaded == (facts.stat.pid != 2));
  }
}
