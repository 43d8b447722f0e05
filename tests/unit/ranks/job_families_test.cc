// Processes of a job that have no rank: which of them have a part of their own.
#include "ranks/job_families.h"

#include <set>
#include <string>
#include <vector>

#include "ranks/process_activity.h"
#include "ranks/process_label.h"
#include "tests/support/catch.h"
#include "tests/unit/ranks/node_table.h"

using oddrank::ranks::ReportedBy;
using oddrank::snapshot::JobRole;
using oddrank::test::DiscoverOptions;
using oddrank::test::Node;
using oddrank::test::ReportedWorld;
using oddrank::test::torch;

namespace {

ReportedWorld member(int rank, int size) {
  return {ReportedBy::kGroup, rank, size, -1, "127.0.0.1:29500", false};
}

// An engine that serves a model: its front, its core, and two workers with a group.
Node engine() {
  Node node;
  node.add(50, 1, "bash")
      .add(100, 50, "python /venv/bin/serve model")
      .says({})
      .add(101, 100, "tee log")
      .add(110, 100, "VLLM::EngineCore")
      .says({})
      .add(120, 110, "VLLM::Worker_TP0")
      .says(member(0, 2))
      .add(121, 110, "VLLM::Worker_TP1")
      .says(member(1, 2));
  return node;
}

DiscoverOptions given(const std::vector<pid_t>& pids) {
  DiscoverOptions options;
  options.pids = pids;
  return options;
}

JobRole role_of_row(const Node& node, pid_t pid, const DiscoverOptions& options = {}) {
  for (const auto& row : node.decide(options).rows) {
    if (node.facts()[row.process].stat.pid == pid) {
      return row.role;
    }
  }
  return JobRole::kUnknown;
}

}  // namespace

TEST_CASE("an engine's front and core are parts of their workers' job, if they have titles") {
  const Node node = engine();
  CHECK(node.ranks() == "-1:100[101] -1:110 0:120 1:121");
  CHECK(role_of_row(node, 100) == JobRole::kController);
  CHECK(role_of_row(node, 110) == JobRole::kEngine);
  CHECK(role_of_row(node, 121) == JobRole::kWorker);
  CHECK(node.decide().notes.empty());
}

TEST_CASE("a program that only has started ranks is no part of the job") {
  Node node;
  node.add(100, 50, "python train.py")
      .says({})
      .add(101, 100, "python train.py")
      .says(member(0, 2))
      .add(102, 100, "python train.py")
      .says(member(1, 2));
  CHECK(node.ranks() == "0:101 1:102");
}

TEST_CASE("a family without ranks is a job: a driver, its actors, and the services below it") {
  Node node;
  node.add(100, 50, "python drive.py")
      .says({})
      .add(110, 100, "/venv/lib/python3.11/site-packages/ray/core/raylet")
      .add(120, 110, "ray::Rollout.sample")
      .says({})
      .add(121, 110, "ray::IDLE")
      .says({})
      .add(122, 110, "ray::DashboardAgent")
      .says({});
  CHECK(node.ranks() == "-1:100[110,121,122] -1:120");
  CHECK(role_of_row(node, 100) == JobRole::kController);
  CHECK(role_of_row(node, 120) == JobRole::kActor);
}

TEST_CASE("two families without ranks are two jobs, and a lone process is no job") {
  Node node;
  node.add(100, 50, "python drive.py")
      .says({})
      .add(101, 100, "python -m actor.main")
      .says({})
      .add(200, 50, "python drive.py")
      .says({})
      .add(201, 200, "python -m actor.main")
      .says({});
  CHECK(node.ranks() == "-1:100 -1:101 -1:200 -1:201");
  CHECK(node.jobs() == "family 100 | family 100 | family 200 | family 200");

  Node alone;
  alone.add(100, 50, "python notebook.py").says({});
  CHECK(alone.ranks().empty());
}

TEST_CASE("a process that was given is a row of its own, also below another one") {
  CHECK(engine().ranks(given({100, 110, 120, 121})) == "-1:100[101] -1:110 0:120 1:121");
}

TEST_CASE("a service that was given is a row of its own, and known as a service") {
  CHECK(engine().ranks(given({101, 110, 120, 121})) == "-1:101 -1:110 0:120 1:121");
  CHECK(engine().ranks(given({101})) == "-1:101");

  Node node = engine();
  node.add(130, 100, "VLLM::DPCoordinator").says({});
  CHECK(node.ranks() == "-1:100[130,101] -1:110 0:120 1:121");
  const DiscoverOptions all = given({100, 110, 120, 121, 130});
  CHECK(node.ranks(all) == "-1:100[101] -1:110 -1:130 0:120 1:121");
  CHECK(role_of_row(node, 130, all) == JobRole::kService);
}

TEST_CASE("two engines of one server: their workers' numbers are nobody's") {
  Node node;
  node.add(100, 50, "python /venv/bin/serve model")
      .says({})
      .add(110, 100, "VLLM::EngineCore_DP0")
      .says({})
      .add(111, 110, "VLLM::Worker")
      .says(member(0, 1))
      .add(120, 100, "VLLM::EngineCore_DP1")
      .says({})
      .add(121, 120, "VLLM::Worker")
      .says(member(0, 1));
  CHECK(node.ranks() == "-1:100 -1:110 -1:111 -1:120 -1:121");
  CHECK(node.ranks(given({111, 121})) == "-1:111 -1:121");
}

// A server with two engines, each with two workers that have the numbers 0 and 1 of a group.
Node two_engines() {
  Node node;
  node.add(100, 50, "python /venv/bin/serve model").says({});
  for (const int core : {110, 120}) {
    ReportedWorld world = member(0, 2);
    world.address = "127.0.0.1:29" + std::to_string(core);
    node.add(core, 100, "VLLM::EngineCore_DP" + std::to_string(core / 10 - 11)).says({});
    node.add(core + 1, core, "VLLM::Worker_TP0").says(world);
    world.rank = 1;
    node.add(core + 2, core, "VLLM::Worker_TP1").says(world);
  }
  return node;
}

TEST_CASE("engines of one server whose workers have groups are replicas of one job") {
  const Node node = two_engines();
  CHECK(node.ranks() == "-1:100 -1:110 -1:120 0:111 0:121 1:112 1:122");
  std::set<std::string> replicas;
  for (const auto& row : node.decide().rows) {
    CHECK(row.job == "family 100");
    replicas.insert(row.replica);
  }
  CHECK(replicas.size() == 3);  // the server and its cores have none
  CHECK(node.ranks(given({111, 112, 121, 122})) == "0:111 0:121 1:112 1:122");

  Node two_servers = engine();
  ReportedWorld world = member(0, 2);
  world.address = "127.0.0.1:29600";
  two_servers.add(200, 50, "python /venv/bin/serve other").says({});
  two_servers.add(210, 200, "VLLM::Worker_TP0").says(world);
  CHECK(two_servers.decide().rows.front().replica.empty());
}

TEST_CASE("an engine below a rank is a part of the rank's job") {
  Node by_variables;
  by_variables.add(100, 50, "python train.py", torch(0, 0, 2))
      .add(101, 50, "python train.py", torch(1, 1, 2))
      .add(110, 100, "VLLM::EngineCore")
      .add(120, 110, "VLLM::Worker");
  CHECK(by_variables.ranks() == "-1:110 -1:120 0:100 1:101");

  Node node;
  node.add(100, 50, "python train.py")
      .says(member(0, 2))
      .add(101, 50, "python train.py")
      .says(member(1, 2))
      .add(110, 100, "VLLM::EngineCore")
      .loaded()
      .add(120, 100, "python -c worker")
      .loaded();
  CHECK(node.ranks() == "-1:110 0:100[120] 1:101");
}

TEST_CASE("a process is called by its title, its script, its module or its program") {
  using oddrank::ranks::label_of;
  const auto label = [](const std::vector<std::string>& arguments, const std::string& image = "",
                        const std::string& name = "") { return label_of(arguments, image, name); };
  CHECK(label({"ray::Rollout.sample"}) == "Rollout.sample");
  CHECK(label({"VLLM::EngineCore   "}) == "EngineCore");
  CHECK(label({"python3", "-u", "/home/u/train.py", "--x"}) == "train.py");
  CHECK(label({"python3", "-m", "pkg.serve.api_server"}) == "api_server");
  CHECK(label({"python3", "-c", "import x"}).empty());
  CHECK(label({"./solver", "in"}, "/opt/bin/solver") == "solver");
  CHECK(label({"/opt/a::b/solver"}) == "solver");
  // One file that is several programs, unless the process has rewritten its arguments or its name.
  CHECK(label({"/bin/sleep", "9"}, "/bin/busybox", "sleep") == "sleep");
  CHECK(label({"kv-server *:6379"}, "/bin/kv-check", "kv-server") == "kv-server");
  CHECK(label({"/bin/a-long-name-of-it"}, "/bin/other", "a-long-name-of-") == "a-long-name-of-it");
  CHECK(label({"db: writer"}, "/bin/db-main", "db-main") == "db-main");
  CHECK(label({"/bin/kv-server"}, "/bin/kv-check", "io-thread") == "kv-check");
  CHECK(label({}).empty());
}

// A driver with a node of its own, and a second node, whose daemon is not the driver's child.
Node two_nodes(const std::string& second_session) {
  const std::string raylet = "/v/site-packages/ray/raylet --gcs-address=127.0.0.1:6379 ";
  Node node;
  node.add(100, 50, "python drive.py")
      .says({})
      .add(110, 100, raylet + "--session-name=s_1")
      .add(120, 110, "ray::Learner")
      .says({})
      .add(210, 1, raylet + "--session-name=" + second_session)
      .add(211, 210, "ray::RuntimeEnvAgent")
      .says({})
      .add(220, 210, "ray::Rollout.sample")
      .says({});
  return node;
}

TEST_CASE("actors of a second node of Ray are of the driver's job") {
  CHECK(two_nodes("s_1").ranks() == "-1:100[210,110,211] -1:120 -1:220");
  CHECK(two_nodes("s_2").ranks() == "-1:100[110] -1:120");
}

TEST_CASE("actors of a cluster that was started by itself are one job, with its drivers") {
  const std::string raylet = "/v/site-packages/ray/raylet --session-name=s_1 --gcs-address=n0:6379";
  for (const bool told : {true, false}) {
    Node node;
    node.add(110, 1, raylet)
        .add(120, 110, "ray::Learner")
        .says({})
        .add(121, 110, "ray::Rollout.sample")
        .says({})
        .add(130, 110, "ray::IDLE")
        .says({})
        .add(200, 50, "python drive.py", told ? "RAY_ADDRESS=n0:6379" : "")
        .says({});
    CHECK(node.ranks() == (told ? "-1:120[110,130] -1:121 -1:200" : "-1:120[110,130] -1:121"));
  }
}

TEST_CASE("a driver that has a log of the session open is of its cluster, and so are its daemons") {
  const std::string ray = "/v/site-packages/ray/core/";
  Node node;
  node.add(109, 1, ray + "gcs_server --session-name=s_1")
      .add(110, 1, ray + "raylet --session-name=s_1 --gcs-address=n0:6379")
      .add(120, 110, "ray::Learner")
      .says({})
      .add(200, 50, "python drive.py")
      .says({})
      .drives("s_1");
  CHECK(node.ranks() == "-1:120[109,110] -1:200");
  CHECK(oddrank::ranks::ray_session_of_log("/tmp/ray/s_1/logs/python-core-driver-01_5.log") ==
        "s_1");
  CHECK(
      oddrank::ranks::ray_session_of_log("/tmp/ray/s_1/logs/python-core-worker-01_5.log").empty());
  CHECK(oddrank::ranks::ray_session_of_log("/logs/python-core-driver-01_5.log").empty());
}

TEST_CASE("ranks on one node of Ray have the actors of the other one beside them") {
  const std::string raylet = "/v/site-packages/ray/raylet --session-name=s_1 --gcs-address=n0:6379";
  Node node;
  node.add(100, 50, "python drive.py")
      .says({})
      .add(110, 100, raylet)
      .add(120, 110, "ray::Trainer.step")
      .says(member(0, 2))
      .add(210, 1, raylet)
      .add(220, 210, "ray::Trainer.step")
      .says(member(1, 2))
      .add(221, 210, "ray::Store.get")
      .says({});
  CHECK(node.ranks() == "-1:100[110] -1:221 0:120[210] 1:220");
}
