#include "slurm/launch.h"

#include <algorithm>

#include "tests/support/catch.h"
#include "tests/unit/slurm/recorded.h"

namespace oddrank::slurm {
namespace {

TEST_CASE("the agents' step runs beside the ranks and requests none of their resources") {
  AgentStep step;
  step.job = "3";
  step.nodes = {"n0", "n1"};
  step.agent_path = "/shared/oddrank";
  step.agent_args = {"agent", "--timeout", "20s"};
  const ProgramCall all = agent_command(step);
  const auto has = [](const ProgramCall& command, const char* word) {
    return std::find(command.argv.begin(), command.argv.end(), word) != command.argv.end();
  };
  CHECK(all.argv[0] == "srun");
  for (const char* word : {"--jobid=3", "--overlap", "--gres=none", "-K0", "-l", "none"}) {
    CHECK(has(all, word));
  }
  CHECK_FALSE(has(all, "-w"));
  CHECK(std::vector<std::string>(all.argv.end() - 4, all.argv.end()) ==
        std::vector<std::string>{"/shared/oddrank", "agent", "--timeout", "20s"});
  CHECK(all.never_kill);
  REQUIRE(all.environment);
  step.whole_job = false;
  const ProgramCall some = agent_command(step);
  const auto list = std::find(some.argv.begin(), some.argv.end(), "-w");
  REQUIRE(list != some.argv.end());
  CHECK(*(list + 1) == "n0,n1");
}

TEST_CASE("each component of a heterogeneous job has its share of the step") {
  AgentStep step;
  step.job = "6";
  step.parts = {{0, "a0", {"a0"}, 1}, {1, "b[0-1]", {"b0", "b1"}, 2}};
  step.nodes = {"a0", "b0", "b1"};
  step.agent_path = "/shared/oddrank";
  const auto joined = [&step] {
    std::string line;
    for (const std::string& word : agent_command(step).argv) {
      line += word + " ";
    }
    return line;
  };
  const std::string all = joined();
  const auto second = all.find(" : --het-group=1 --overlap -N 2 -n 2 ");
  REQUIRE(second != std::string::npos);
  CHECK(all.find("--het-group=0 --overlap -N 1 -n 1 ") < second);
  CHECK(all.find("/shared/oddrank") < second);
  CHECK(all.find("/shared/oddrank", second) != std::string::npos);
  step.nodes = {"b1"};
  step.whole_job = false;
  const std::string one = joined();
  CHECK(one.find("--het-group=0") == std::string::npos);
  CHECK(one.find(" : ") == std::string::npos);
  CHECK(one.find("-w b1 ") != std::string::npos);
}

TEST_CASE("srun names the node that it could not reach") {
  for (const auto& [text, why] :
       {std::pair{recorded::kNodeGone, "Communication connection failure"},
        std::pair{recorded::kNodeStopped, "Socket timed out on send/recv operation"}}) {
    const SrunWords words = parse_srun_words(text);
    CHECK(words.launch_failures == std::map<std::string, std::string>{{"n2", why}});
    CHECK(words.aborted);
    CHECK(words.exits.empty());
    CHECK_FALSE(words.refusal);
    CHECK(words.complaint.empty());
  }
}

TEST_CASE("srun names the agents that ended badly") {
  const SrunWords words = parse_srun_words(recorded::kAgentsEnded);
  CHECK(words.exits ==
        std::map<std::string, std::string>{{"n1", "Killed"}, {"n2", "Exited with exit code 3"}});
  CHECK(words.task_hosts == std::map<int, std::string>{{1, "n1"}, {2, "n2"}});
  CHECK_FALSE(words.aborted);
  const SrunWords many =
      parse_srun_words("srun: error: n[0,2-3]: tasks 0,2-3: Exited with exit code 2\n");
  CHECK(many.exits.size() == 3);
  CHECK(many.exits.count("n3") == 1);
  CHECK(many.task_hosts.empty());
}

TEST_CASE("srun's refusals are errors with a hint") {
  for (const auto& [text, code] : {std::pair{recorded::kDenied, Errc::kPermission},
                                   std::pair{recorded::kNotYet, Errc::kNotFound},
                                   std::pair{recorded::kExpired, Errc::kGone}}) {
    const SrunWords words = parse_srun_words(text);
    REQUIRE(words.refusal);
    CHECK(words.refusal->code == code);
    CHECK_FALSE(words.refusal->hint.empty());
  }
}

TEST_CASE("if srun has ended, that is what happened, and when") {
  constexpr std::chrono::milliseconds kAfter{130};
  CHECK(end_words("", false, kAfter) == "srun ended after 0.1 s without an answer of this node");
  CHECK(end_words("", true, kAfter) ==
        "its agent started, and srun ended after 0.1 s without an answer of this node");
  CHECK(end_words("Job step 7.3 was cancelled", true, kAfter) ==
        "srun: Job step 7.3 was cancelled (it ended after 0.1 s)");
}

TEST_CASE("other complaints are kept, noise and odd text are not") {
  CHECK(parse_srun_words("srun: error: Only allocated 4 nodes asked for 5\n").complaint ==
        "Only allocated 4 nodes asked for 5");
  CHECK(parse_srun_words("srun: got SIGCONT\n\n").complaint.empty());
  for (const char* text : {": task", ": task : ", "Task launch for  failed on node ",
                           "srun: error: : tasks : ", "Task launch for x failed on node n2"}) {
    const SrunWords words = parse_srun_words(text);
    CHECK(words.launch_failures.empty());
    CHECK(words.task_hosts.empty());
  }
}

}  // namespace
}  // namespace oddrank::slurm
