#include "snapshot/join_samples.h"

#include "snapshot/tables.h"
#include "tests/support/catch.h"

namespace oddrank::snapshot {
namespace {

ProcessCapture process_with(std::vector<std::pair<pid_t, std::uint64_t>> threads_and_cpu) {
  ProcessCapture process;
  process.read = ReadState::kFull;
  for (const auto& [tid, cpu] : threads_and_cpu) {
    ThreadCapture thread;
    thread.tid = tid;
    thread.samples = {{StackId{}, StackId{}, 'S', cpu, 0, 0}};
    process.threads.push_back(std::move(thread));
  }
  return process;
}

TEST_CASE("samples of a thread follow each other, new threads are added, ended ones stay") {
  ProcessCapture process = process_with({{1, 10}, {2, 20}});
  ProcessCapture later = process_with({{1, 11}, {3, 30}});
  later.threads[0].wait.on = WaitOn::kPipe;
  append_samples(process, std::move(later));
  REQUIRE(process.threads.size() == 3);
  REQUIRE(process.threads[0].samples.size() == 2);
  CHECK(process.threads[0].samples[0].cpu_us == 10);
  CHECK(process.threads[0].samples[1].cpu_us == 11);
  CHECK(process.threads[0].wait.on == WaitOn::kPipe);
  CHECK(process.threads[1].samples.size() == 1);
  CHECK(process.threads[2].tid == 3);
}

TEST_CASE("a process that no longer answers keeps what was read before") {
  Tables tables;
  ProcessCapture process = process_with({{1, 10}});
  ProcessCapture later;
  later.read = ReadState::kNone;
  later.why = tables.string("did not answer");
  later.state = 'D';
  append_samples(process, std::move(later));
  CHECK(process.read == ReadState::kFull);
  CHECK(process.state == 'D');
  CHECK(tables.text(process.why) == "did not answer");
  REQUIRE(process.threads.size() == 1);
  CHECK(process.threads[0].samples.size() == 1);
}

}  // namespace
}  // namespace oddrank::snapshot
