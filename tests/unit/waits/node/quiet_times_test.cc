#include "waits/node/quiet_times.h"

#include "tests/support/catch.h"

namespace oddrank::waits {
namespace {

using std::chrono::milliseconds;

snapshot::ProcessCapture with_thread(char state, bool stopped) {
  snapshot::ProcessCapture process;
  snapshot::ThreadCapture& thread = process.threads.emplace_back();
  thread.tid = 7;
  thread.samples.emplace_back().state = state;
  thread.samples.edit_back().stopped = stopped;
  thread.wait.quiet_ms = 3;  // since it was let go
  return process;
}

std::int64_t kept(const QuietTimes& before, char state, bool stopped) {
  snapshot::ProcessCapture process = with_thread(state, stopped);
  keep_quiet_times(before, process);
  return process.threads.front().wait.quiet_ms;
}

TEST_CASE("a sleep that our stop interrupted keeps its length") {
  const QuietTimes before = {{7, milliseconds(60000)}};
  CHECK(kept(before, 'S', true) == 60000);
  CHECK(kept(before, 'S', false) == 3);
  CHECK(kept({}, 'S', true) == -1);     // not known, rather than short
  CHECK(kept(before, 'R', true) == 3);  // runs: nothing to restore
}

TEST_CASE("a thread without samples is left alone") {
  snapshot::ProcessCapture process;
  process.threads.emplace_back().tid = 7;
  keep_quiet_times({{7, milliseconds(60000)}}, process);
  CHECK(process.threads.front().wait.quiet_ms == -1);
}

}  // namespace
}  // namespace oddrank::waits
