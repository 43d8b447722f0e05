// When the samples of a node's ranks suffice, on made-up captures.
#include "node/enough_samples.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "snapshot/libraries/known_libraries.h"
#include "tests/support/catch.h"

namespace oddrank::node {
namespace {

using snapshot::Capture;
using snapshot::FrameKind;
using snapshot::ProcessCapture;
using snapshot::StackId;
using snapshot::ThreadCapture;
using std::chrono::milliseconds;
using Times = std::vector<milliseconds>;

const std::string kDriver = "/usr/lib/libcuda.so.580.159.04";
const std::string kCompiler = "/usr/lib/libnvidia-ptxjitcompiler.so.1";

// One sample of a thread.
struct Seen {
  // "train", or "all_reduce" for a call in it; a file's path for a train() that is in this library;
  // "" for native frames alone.
  std::string at;
  char state = 'S';
  std::uint64_t switches = 0;
  bool locals_changed = false;
};

StackId stack_at(Capture& capture, const std::string& at) {
  auto& tables = capture.tables;
  const auto python = [&tables](const char* function, const char* file) {
    return tables.frame({FrameKind::kPython, 0, tables.string(function), tables.string(file)});
  };
  snapshot::Stack stack;
  const auto native = [&tables](const char* file) {
    return tables.frame({FrameKind::kNative, 0, {}, tables.string(file)});
  };
  stack.frames.push_back(native("[vdso]"));
  stack.frames.push_back(native("libc.so.6"));
  if (at.starts_with('/')) {
    stack.frames.push_back(native(at.c_str()));
    stack.frames.push_back(native("/x/lib/libtorch_cuda.so"));
    stack.frames.push_back(python("train", "job.py"));
  } else if (at == "all_reduce") {
    stack.frames.push_back(python("all_reduce", "/x/torch/distributed/distributed_c10d.py"));
    stack.frames.push_back(python("train", "job.py"));
  } else if (!at.empty()) {
    stack.frames.push_back(python(at.c_str(), "job.py"));
  }
  return tables.stack(stack);
}

class Node {
 public:
  Capture capture;

  // Adds a rank. `quiet_ms`: of the last sample; -1: unknown.
  ThreadCapture& rank(const std::vector<Seen>& seen, std::int64_t quiet_ms) {
    ProcessCapture& process = capture.processes.emplace_back();
    process.is_rank = true;
    process.rank = static_cast<std::int32_t>(capture.processes.size()) - 1;
    process.read = snapshot::ReadState::kFull;
    return thread(seen, quiet_ms);
  }
  // Adds another thread to the last rank.
  ThreadCapture& thread(const std::vector<Seen>& seen, std::int64_t quiet_ms) {
    ThreadCapture thread;
    for (const Seen& one : seen) {
      snapshot::ThreadSample sample;
      sample.stack = stack_at(capture, one.at);
      sample.state = one.state;
      sample.voluntary_switches = one.switches;
      sample.locals_changed = one.locals_changed;
      thread.samples.push_back(sample);
    }
    thread.wait.quiet_ms = quiet_ms;
    return capture.processes.back().threads.emplace_back(std::move(thread));
  }
  NextSample after(const Times& begun, const EventAges& events = {}) const {
    return next_sample(capture, begun, events);
  }
};

const Times kTwo = {milliseconds(0), milliseconds(500)};
const Times kThree = {milliseconds(0), milliseconds(500), milliseconds(1500)};
const Times kFour = {milliseconds(0), milliseconds(500), milliseconds(1500), milliseconds(3500)};
const Times kFive = {milliseconds(0), milliseconds(500), milliseconds(1500), milliseconds(3500),
                     milliseconds(7500)};

const std::vector<Seen> kWaits = {{"all_reduce"}, {"all_reduce"}};
const std::vector<Seen> kSpins = {{"train", 'R'}, {"train", 'R'}};

TEST_CASE("a wait of unknown age is as old as another rank's at the same place") {
  const std::vector<Seen> trains = {{"train"}, {"train"}};
  Node node;
  node.rank(trains, 60000);
  node.rank(trains, -1);
  CHECK(node.after(kTwo).reason == SampleReason::kNone);
  // Elsewhere it may be the one that the others wait for, and move at any moment.
  node.rank({{"load"}, {"load"}}, -1);
  CHECK(node.after(kTwo).reason == SampleReason::kYoungWaits);
  // A rank that ran in between has an age, which is young.
  Node other;
  other.rank(trains, 60000);
  other.rank({{"train", 'S', 1}, {"train", 'S', 2}}, -1);
  CHECK(other.after(kTwo).reason != SampleReason::kNone);
}

TEST_CASE("one sample never suffices, and processes that are no ranks do not count") {
  Node node;
  node.rank({{"all_reduce"}}, 60000);
  CHECK(node.after({milliseconds(0)}).reason == SampleReason::kFirst);
  CHECK(node.after({milliseconds(0)}).after == milliseconds(500));
  Node other;
  other.rank(kWaits, 600);
  other.capture.processes.back().is_rank = false;
  CHECK(other.after(kTwo).reason == SampleReason::kNone);
}

TEST_CASE("waits are old: two samples suffice, wherever the ranks wait") {
  Node node;
  node.rank(kWaits, 5000);
  node.rank({{"train"}, {"train"}}, 60000);
  node.rank({{""}, {""}}, 7000);
  node.rank({{"train", 'D'}, {"train", 'D'}}, 60000);
  CHECK(node.after(kTwo).reason == SampleReason::kNone);
}

TEST_CASE("waits are young: sampled again until the youngest is old") {
  Node node;
  node.rank(kWaits, 8000);
  node.rank(kWaits, 700);
  NextSample next = node.after(kTwo);
  CHECK(next.reason == SampleReason::kYoungWaits);
  CHECK(next.after == milliseconds(1000));
  Node later;
  later.rank({{"all_reduce"}, {"all_reduce"}, {"all_reduce"}, {"all_reduce"}}, 3700);
  next = later.after(kFour);
  CHECK(next.reason == SampleReason::kYoungWaits);
  CHECK(next.after == milliseconds(1700));  // when it will be old, not the full interval
}

TEST_CASE("intervals grow, and end after five samples or ten seconds") {
  const auto interval = [](const Times& begun) {
    Node node;
    node.rank(std::vector<Seen>(begun.size(), Seen{"train", 'R'}), -1);
    return node.after(begun).after;
  };
  CHECK(interval(kTwo) == milliseconds(1000));
  CHECK(interval(kThree) == milliseconds(2000));
  CHECK(interval(kFour) == milliseconds(4000));
  CHECK(interval(kFive) == milliseconds(0));
  // Samples of many ranks take long.
  CHECK(interval({milliseconds(0), milliseconds(4000), milliseconds(9000)}) == milliseconds(1000));
  CHECK(interval({milliseconds(0), milliseconds(9900)}) == milliseconds(0));
}

TEST_CASE("a rank that runs at one place is sampled again") {
  Node node;
  node.rank(kSpins, -1);
  CHECK(node.after(kTwo).reason == SampleReason::kRuns);
}

TEST_CASE("a rank that runs does not matter if another has waited longer than is ever sampled") {
  Node node;
  node.rank(kSpins, -1);
  node.rank(kWaits, 10000);
  CHECK(node.after(kTwo).reason == SampleReason::kNone);
  Node young;
  young.rank(kSpins, -1);
  young.rank(kWaits, 9000);
  CHECK(young.after(kTwo).reason == SampleReason::kRuns);
  Node asleep;  // a sleep of its own is no sign that the job is held up
  asleep.rank(kSpins, -1);
  asleep.rank({{"train"}, {"train"}}, 10000);
  CHECK(asleep.after(kTwo).reason == SampleReason::kRuns);
  Node native;
  native.rank(kSpins, -1);
  native.rank({{"train"}, {"train"}}, 10000).wait.on = snapshot::WaitOn::kLock;
  CHECK(native.after(kTwo).reason == SampleReason::kNone);
}

TEST_CASE("a rank that has waited long shows nothing if another has begun to wait just now") {
  Node node;
  node.rank(kSpins, -1);
  node.rank(kWaits, 22000);  // it may be one that is seldom needed
  node.rank(kWaits, 1800);
  CHECK(node.after(kTwo).reason == SampleReason::kYoungWaits);
}

TEST_CASE("a process that rests between its turns is sampled over several of them") {
  Node node;
  node.rank(kWaits, 60000);
  node.rank({{"train"}, {"train"}}, 60000);
  ThreadCapture& waits = node.capture.processes[1].threads[0];
  waits.wait.on = snapshot::WaitOn::kChild;
  node.capture.processes[1].pid = 10;
  node.rank({{"copy"}, {"copy"}}, 700);
  ProcessCapture& child = node.capture.processes[2];
  child.is_rank = false;
  child.owner = 10;
  child.threads[0].has_python = true;
  child.threads[0].wait.limit_ms = 200;
  CHECK(node.after(kTwo).reason == SampleReason::kRuns);
  SECTION("until that was so often") {
    for (ThreadCapture* thread : {&node.capture.processes[0].threads[0],
                                  &node.capture.processes[1].threads[0], &child.threads[0]}) {
      while (thread->samples.size() < 4) {
        thread->samples.push_back(thread->samples.back());
      }
    }
    CHECK(node.after(kFour).reason == SampleReason::kNone);
  }
  SECTION("unless nobody waits for it") {
    node.capture.processes[1].threads[0].wait.on = snapshot::WaitOn::kSocket;
    CHECK(node.after(kTwo).reason == SampleReason::kNone);
  }
  SECTION("or it stands") {
    child.threads[0].wait.quiet_ms = 60000;
    CHECK(node.after(kTwo).reason == SampleReason::kNone);
  }
}

TEST_CASE("a rank that moved twice is decided, once is not enough") {
  Node once;
  once.rank({{"train"}, {"all_reduce"}}, 100);
  CHECK(once.after(kTwo).reason != SampleReason::kNone);
  Node twice;
  twice.rank({{"train"}, {"all_reduce"}, {"evaluate"}}, 100);
  CHECK(twice.after(kThree).reason == SampleReason::kNone);
  Node counts;  // always in the same call, of another step
  counts.rank({{"all_reduce"}, {"all_reduce", 'S', 9, true}, {"all_reduce", 'S', 19, true}}, 100);
  CHECK(counts.after(kThree).reason == SampleReason::kNone);
  Node runs;
  runs.rank({{"train", 'R'}, {"all_reduce", 'R'}, {"evaluate", 'R'}}, -1);
  CHECK(runs.after(kThree).reason == SampleReason::kNone);
}

TEST_CASE("a poll that returns to its places does not move") {
  Node node;
  node.rank({{"exists"}, {"poll", 'S', 7}, {"exists", 'S', 19}}, 10);
  CHECK(node.after(kThree).reason == SampleReason::kRuns);
}

TEST_CASE("one rank that moves does not decide for one whose wait is young") {
  Node node;
  node.rank({{"train"}, {"all_reduce"}, {"evaluate"}}, 100);
  node.rank({{"all_reduce"}, {"all_reduce"}, {"all_reduce"}}, 1200);
  CHECK(node.after(kThree).reason == SampleReason::kYoungWaits);
}

TEST_CASE("if the kernel does not report the age of a wait, the time between samples counts") {
  Node node;
  node.rank({{"all_reduce"}, {"all_reduce"}}, -1);
  CHECK(node.after(kTwo).reason == SampleReason::kYoungWaits);
  Node later;
  later.rank(std::vector<Seen>(5, Seen{"all_reduce"}), -1);
  const Times slow = {milliseconds(0), milliseconds(500), milliseconds(1500), milliseconds(5600)};
  Node still;
  still.rank(std::vector<Seen>(4, Seen{"all_reduce"}), -1);
  CHECK(still.after(slow).reason == SampleReason::kNone);
  Node woke;
  woke.rank(
      {{"all_reduce"}, {"all_reduce", 'S', 1}, {"all_reduce", 'S', 1}, {"all_reduce", 'S', 2}}, -1);
  CHECK(woke.after(slow).reason != SampleReason::kNone);
}

TEST_CASE("a rank that was stopped in the last sample only is sampled again") {
  for (const char letter : {'t', 'T'}) {
    Node once;
    once.rank({{"all_reduce"}, {"all_reduce", letter}}, 60000);
    CHECK(once.after(kTwo).reason == SampleReason::kStoppedOnce);
    CHECK(once.after(kTwo).after == milliseconds(500));
    Node always;
    always.rank({{"all_reduce", letter}, {"all_reduce", letter}}, 60000);
    CHECK(always.after(kTwo).reason == SampleReason::kNone);
    Node again;
    again.rank({{"all_reduce", letter}, {"all_reduce"}}, 60000);
    CHECK(again.after(kTwo).reason == SampleReason::kNone);
  }
}

TEST_CASE("threads inside calls count beside the main thread, others do not") {
  Node node;
  node.rank(kWaits, 60000);
  node.thread({{"heartbeat"}, {"heartbeat"}}, 100);
  CHECK(node.after(kTwo).reason == SampleReason::kNone);
  node.thread(kWaits, 600);
  CHECK(node.after(kTwo).reason == SampleReason::kYoungWaits);
}

TEST_CASE("threads and ranks that were not in each sample do not count") {
  Node node;
  node.rank(kWaits, 60000);
  node.thread({{"all_reduce"}}, 100);  // has ended, or has just begun
  node.rank({{"all_reduce"}}, 100);    // did not answer the second time
  node.rank(kSpins, -1);
  node.capture.processes.back().read = snapshot::ReadState::kNone;
  node.capture.processes.emplace_back().is_rank = true;
  CHECK(node.after(kTwo).reason == SampleReason::kNone);
}

TEST_CASE("no sample keeps the answer beyond the longest time, however long reading takes") {
  const auto after = [](milliseconds wanted, const SamplingTime& time) {
    const NextSample next = in_time({SampleReason::kRuns, wanted}, time);
    return next.reason == SampleReason::kNone ? milliseconds(-1) : next.after;
  };
  using namespace std::chrono_literals;
  CHECK(after(4s, {200ms, 3500ms, 50ms}) == 4s);  // an idle machine
  CHECK(after(4s, {2s, 3500ms, 500ms}) == 2500ms);
  CHECK(after(4s, {3s, 4s, 600ms}) == 600ms);
  CHECK(after(4s, {3s, 4s, 700ms}) == -1ms);  // the last one has just ended
  CHECK(after(500ms, {20s, 500ms, 3s}) == -1ms);
}

TEST_CASE("the reason for another sample is worded") {
  CHECK(again_words(SampleReason::kYoungWaits, 3) == "waits are young, sampling again (3)");
  CHECK(again_words(SampleReason::kRuns, 4) == "a rank runs, sampling again (4)");
  CHECK(again_words(SampleReason::kStoppedOnce, 3) ==
        "a rank was stopped for an instant, sampling again (3)");
}

TEST_CASE("only a capture that adapts may take longer than its time limit") {
  CaptureOptions options;
  CHECK(longest_sampling(options) == kMaxSampling);
  options.until_decided = false;
  CHECK(longest_sampling(options) == milliseconds(0));
}

TEST_CASE("a thread that spins in a driver waits since the newest event of its recorder") {
  for (const snapshot::KnownLibrary& known : snapshot::known_libraries()) {
    const bool spins_there =
        known.library == snapshot::Library::kNccl || snapshot::is_driver(known.library);
    if (!spins_there) {
      continue;
    }
    INFO(known.name);
    const std::string library = "/usr/lib/" + std::string(known.name) + ".so.580.159.04";
    const std::vector<Seen> spins = {{library, 'R'}, {library, 'R'}};
    Node node;
    node.rank(spins, -1);
    node.rank({{"train"}, {"train"}}, 60000);
    CHECK(spins_in_library(node.capture));
    const auto reason = [&node](int ms) {
      return node.after(kTwo, {milliseconds(ms), milliseconds(-1)}).reason;
    };
    CHECK(reason(6000) == SampleReason::kNone);
    CHECK(reason(4000) != SampleReason::kNone);
    CHECK(reason(-1) != SampleReason::kNone);
    CHECK(node.after(kTwo).reason != SampleReason::kNone);
  }
}

TEST_CASE("an old event says nothing of a thread that is not in a driver, or that moves on") {
  const EventAges old = {milliseconds(60000)};
  Node computes;
  computes.rank(kSpins, -1);
  CHECK(!spins_in_library(computes.capture));
  CHECK(computes.after(kTwo, old).reason == SampleReason::kRuns);
  Node compiles;
  compiles.rank({{kCompiler, 'R'}, {kCompiler, 'R'}}, -1);
  CHECK(compiles.after(kTwo, old).reason == SampleReason::kRuns);
  Node once;
  once.rank({{"train", 'R'}, {kDriver, 'R'}}, -1);
  CHECK(once.after(kTwo, old).reason == SampleReason::kRuns);
  Node goes_on;
  goes_on.rank({{kDriver, 'R'}, {kDriver, 'R', 0, true}}, -1);
  CHECK(goes_on.after(kTwo, old).reason == SampleReason::kRuns);
}

}  // namespace
}  // namespace oddrank::node
