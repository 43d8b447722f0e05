#include "slurm/explain.h"

#include "tests/support/catch.h"

namespace oddrank::slurm {
namespace {

using States = std::map<std::string, std::string>;

TEST_CASE("healthy nodes have no words") {
  CHECK(parse_node_states("n0|allocated|none\nn1|mixed|none\nn2|idle|none\nn3|completing|\n")
            .empty());
}

TEST_CASE("nodes in trouble have words, with the reason that an administrator gave") {
  // Recorded from 22.05, except for the power-saving one (sinfo's manual).
  CHECK(parse_node_states("n1|draining|bad dimm | x\n") ==
        States{{"n1", "draining (bad dimm | x)"}});
  CHECK(parse_node_states("n2|allocated*|none\n") == States{{"n2", "not responding"}});
  CHECK(parse_node_states("n3|down*|Not responding\n") ==
        States{{"n3", "down, not responding (Not responding)"}});
  CHECK(parse_node_states("n4|powered_down~|none\n") == States{{"n4", "powered_down"}});
}

TEST_CASE("lines of another form are skipped") {
  for (const char* text : {"", "|", "||", "n1", "n1|down", "sinfo: error: x\n", "\n\n|\n"}) {
    INFO(text);
    CHECK(parse_node_states(text).empty());
  }
  CHECK(parse_node_states("n1|down|" + std::string(9999, 'x')).at("n1").size() < 200);
}

}  // namespace
}  // namespace oddrank::slurm
