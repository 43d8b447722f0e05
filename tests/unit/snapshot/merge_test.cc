#include "snapshot/merge.h"

#include "snapshot/carrier.h"
#include "tests/support/catch.h"
#include "tests/unit/snapshot/format/sample_capture.h"

namespace oddrank::snapshot {
namespace {

using test::sample_capture;

TEST_CASE("nodes and processes of two captures stand side by side, equal stacks once") {
  Capture whole;
  whole.tables.string("so that ids differ");
  Merger merger(whole);
  merger.add(sample_capture("n0", 71));
  merger.add(sample_capture("n1", 71));
  REQUIRE(whole.nodes.size() == 2);
  REQUIRE(whole.processes.size() == 2);
  CHECK(whole.processes[0].node == 0);
  CHECK(whole.processes[1].node == 1);
  CHECK(whole.job.hosts == std::vector<std::string>{"n0", "n1"});
  CHECK(whole.job.world_size == 8);
  CHECK(whole.job.notes == std::vector<std::string>{"one hour"});  // once
  const auto& first = whole.processes[0].threads[0];
  CHECK(first == whole.processes[1].threads[0]);
  CHECK(whole.tables.stacks().size() == 2);  // the empty one and this
  const Stack& stack = whole.tables.stack(first.samples[0].stack);
  CHECK(whole.tables.text(whole.tables.frame(stack.frames[1]).function) == "Läufer.step");
  CHECK(whole.tables.text(first.wait.detail) == "why");
  CHECK(whole.tables.text(first.wait.lock.function) == "localtime_r");
  CHECK(whole.tables.text(first.wait.rare->awaited[0].link) == "pipe:[31]");
  CHECK(whole.tables.text(first.wait.rare->awaited[0].local) == "10.0.0.1:8");
  CHECK(whole.tables.text(first.wait.rare->awaited[0].peer) == "10.0.0.2:9");
  CHECK(whole.tables.text(first.wait.rare->awaited[0].note) == "pid 20 has it open");
  CHECK(whole.tables.text(first.wait.rare->pool.name) == "DataLoader worker");
  CHECK(whole.tables.text(first.wait.rare->notes) == "a remark");
  CHECK(whole.tables.text(first.wait.rare->motion) == "it spins");
  CHECK(whole.tables.text(first.call->op) == "recv");
  CHECK(whole.tables.text(first.locals[0].locals[0].value) == "1207");
  CHECK(whole.tables.text(whole.processes[1].environment[0].first) == "RANK");
  CHECK(whole.tables.text(whole.processes[1].connections[0].peer) == "10.0.0.2:8");
  const CollectiveState& state = whole.collectives;
  REQUIRE(state.flight.size() == 2);
  CHECK(state.flight[1].node == 1);
  CHECK(whole.tables.text(state.flight[1].entries[0].place) == "step (train.py:88)");
  CHECK(whole.tables.text(state.ras[1].ranks[0].host) == "10.0.0.1");
  CHECK(whole.tables.text(state.log[1].source) == "/job.log");
  CHECK(whole.tables.text(state.devices[1].name) == "H100");
  CHECK(whole.tables.text(state.ports[1].state) == "ACTIVE");
  merger.add(sample_capture("n1", 71));
  CHECK(state.flight.size() == 2);  // known already
  CHECK(state.ports.size() == 2);
}

TEST_CASE("a process read twice is kept once, the better reading wins in either order") {
  Capture poor = sample_capture();
  poor.processes[0].read = ReadState::kNone;
  Capture good = sample_capture();
  good.processes[0].read = ReadState::kFull;
  for (const bool poor_first : {true, false}) {
    Capture whole;
    Merger merger(whole);
    merger.add(poor_first ? poor : good);
    merger.add(poor_first ? good : poor);
    REQUIRE(whole.processes.size() == 1);
    CHECK(whole.processes[0].read == ReadState::kFull);
  }
}

TEST_CASE("a process that a capture has twice is kept once") {
  Capture twice = sample_capture();
  const std::size_t count = twice.processes.size();
  for (std::size_t i = 0; i < count; ++i) {
    twice.processes.push_back(ProcessCapture(twice.processes[i]));
  }
  Capture whole;
  Merger merger(whole);
  merger.add(twice);
  CHECK(whole.processes.size() == count);
  merger.add(sample_capture("n1", 71));
  merger.add(twice);
  CHECK(whole.processes.size() == 2 * count);
}

TEST_CASE("a reused pid is another process") {
  Capture earlier = sample_capture();
  Capture later = sample_capture();
  later.processes[0].start_us += 1;
  Capture whole;
  Merger merger(whole);
  merger.add(earlier);
  merger.add(later);
  CHECK(whole.processes.size() == 2);
}

TEST_CASE("a node that answered replaces the same node that did not") {
  Capture silent;
  silent.nodes = {{"n0", false, "did not answer in 20 s", 0, {}, {}}};
  Capture whole;
  Merger merger(whole);
  merger.add(silent);
  merger.add(sample_capture("n0"));
  merger.add(silent);
  REQUIRE(whole.nodes.size() == 1);
  CHECK(whole.nodes[0].answered);
}

TEST_CASE("captures of cores stay captures of cores") {
  Capture of_cores = sample_capture();
  of_cores.job = {};
  of_cores.job.source = JobSource::kCore;
  Capture whole;
  Merger(whole).add(of_cores);
  CHECK(whole.job.source == JobSource::kCore);
}

TEST_CASE("an id that the source does not have becomes the empty row") {
  const Tables from;
  Tables to;
  Carrier carrier(from, to);
  CHECK(carrier.string(StringId{1000}) == StringId{});
  CHECK(carrier.stack(StackId{1000}) == StackId{});
  CHECK(to.frame(carrier.frame(FrameId{1000})) == Frame{});
}

}  // namespace
}  // namespace oddrank::snapshot
