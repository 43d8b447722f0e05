#include "waits/node/node_load.h"

#include "tests/support/catch.h"

namespace oddrank::waits {
namespace {

snapshot::Capture ranks_in(const std::string& states) {
  snapshot::Capture capture;
  for (const char state : states) {
    snapshot::ProcessCapture& process = capture.processes.emplace_back();
    process.is_rank = true;
    process.rank = static_cast<std::int32_t>(capture.processes.size()) - 1;
    process.threads.emplace_back().samples.emplace_back().state = state;
  }
  return capture;
}

TEST_CASE("a load far above the CPUs, while ranks want to run") {
  const std::string text = "37.24 20.11 9.03 12/1204 3121\n";
  CHECK(load_note(text, 8, ranks_in("SR")) ==
        "the load is 37.2 on 8 CPUs, and rank 1 wants to run");
  CHECK(load_note(text, 1, ranks_in("RRS")) ==
        "the load is 37.2 on 1 CPU, and threads of 2 ranks want to run");
}

TEST_CASE("no news: ranks that sleep, a load that the CPUs bear, other texts") {
  const std::string text = "37.24 20.11 9.03 12/1204 3121\n";
  CHECK(load_note(text, 8, ranks_in("SD")).empty());
  CHECK(load_note(text, 8, ranks_in("")).empty());
  CHECK(load_note(text, 19, ranks_in("R")).empty());
  for (const char* other : {"", "x", "nan", "-5", "1e300 2 3"}) {
    INFO(other);
    CHECK(load_note(other, 1, ranks_in("R")).empty());
  }
  CHECK(load_note(text, 0, ranks_in("R")).empty());
  snapshot::Capture child = ranks_in("R");
  child.processes[0].is_rank = false;
  CHECK(load_note(text, 1, child).empty());
}

}  // namespace
}  // namespace oddrank::waits
