#include "collectives/around/ray_status.h"

#include "tests/support/catch.h"

namespace oddrank::collectives {
namespace {

// As Ray 2.60 has written them.
constexpr std::string_view kStatusLog = R"(
======== Autoscaler status: 2026-11-29 10:31:39.923865 ========
Pending Demands:
 {'CPU': 4.0}: 2+ pending tasks/actors
2026-11-29 10:31:44,926	INFO autoscaler.py:408 --
======== Autoscaler status: 2026-11-29 10:31:44.926865 ========
Node status
---------------------------------------------------------------
Active:
 1 node_5243cd84436911a97bb3a7c8e3ea19914f302588f4f27f74941b11bf
Resources
---------------------------------------------------------------
Total Usage:
 1.0/4.0 CPU
 0B/21.89GiB memory
 0.5/2.0 licence (0.5 used of 1.0 reserved in placement groups)

From request_resources:
 (none)
Pending Demands:
 {'CPU': 4.0}: 3+ pending tasks/actors
 {'GPU': 4.0} * 2, {'CPU': 1.0} * 1 (PACK): 1+ pending placement groups
 {'licence': 1.25, 'CPU': 1.0}: 1+ pending tasks/actors
2026-11-29 10:31:44,927	INFO autoscaler.py:469 -- The autoscaler took 0.001 seconds to complete
)";

constexpr std::string_view kNodeState = R"(NodeManager:
Resource usage {
    - (language=PYTHON actor_or_taskHolder.__init__ pid=12978 worker_id=7432): {CPU: 1, GPU: 0}
    - (language=PYTHON actor_or_task=score pid=71 worker_id=7433): {CPU_group_4f: 2, bundle: 1}
}
Backlog Size per scheduling descriptor :{workerId: num backlogs}:
)";

}  // namespace

TEST_CASE("ray: the requests of the last status, since when, and what is missing") {
  snapshot::Tables tables;
  const auto requests = read_requests(kStatusLog, tables);
  REQUIRE(requests.size() == 3);
  CHECK(tables.text(requests[0].shape) == "{'CPU': 4.0}");
  CHECK_FALSE(requests[0].is_group);
  CHECK(requests[0].pending_ms == 5000);
  CHECK(tables.text(requests[0].lacks) == "CPU");
  CHECK(requests[0].asked == 4000);
  CHECK(requests[0].free == 3000);
  CHECK(requests[0].total == 4000);
  CHECK(tables.text(requests[1].shape) == "{'GPU': 4.0} * 2, {'CPU': 1.0} * 1 (PACK)");
  CHECK(requests[1].is_group);
  CHECK(requests[1].pending_ms == 0);
  CHECK(tables.text(requests[1].lacks) == "GPU");
  CHECK(requests[1].asked == 8000);
  CHECK(requests[1].total == 0);
  CHECK(tables.text(requests[2].lacks) == "");  // 1.25 of 1.5 are enough
}

TEST_CASE("ray: a text that is cut or strange is no request") {
  snapshot::Tables tables;
  CHECK(read_requests("", tables).empty());
  CHECK(read_requests(" {'CPU': 4.0}: 2+ pending tasks/actors\n", tables).empty());
  CHECK(
      read_requests("Autoscaler status: 2026-99-29 10:31:44.9\n {: + pending \n", tables).empty());
  const auto requests = read_requests(
      "Autoscaler status: 2026-11-29 10:31:44.9\n {'CPU': 9e99}}{ * x: 1+ pending tasks\n", tables);
  REQUIRE(requests.size() == 1);
  CHECK(requests[0].asked == 0);
}

TEST_CASE("ray: who has some of a resource, also within a placement group") {
  const auto holds = read_holds(kNodeState);
  REQUIRE(holds.size() == 2);
  CHECK(holds[0].pid == 12978);
  CHECK(holds[0].name == "Holder.__init__");
  CHECK(has_some_of(holds[0], "CPU"));
  CHECK_FALSE(has_some_of(holds[0], "GPU"));
  CHECK(holds[1].name == "score");
  CHECK(has_some_of(holds[1], "CPU"));
  CHECK_FALSE(has_some_of(holds[1], "C"));
  CHECK(read_holds("Resource usage {\n - (actor_or_task pid= ): {").empty());
}

}  // namespace oddrank::collectives
