// Calls of a real torch.distributed job, as the stacks of its rank show them.
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "attach/live_target.h"
#include "collectives/collect_groups.h"
#include "collectives/find_calls.h"
#include "collectives/torch/meeting_place.h"
#include "elf/symbolize.h"
#include "snapshot/capture.h"
#include "stacks/collect.h"
#include "tests/support/catch.h"
#include "tests/support/name_frames.h"
#include "tests/support/torch_python.h"
#include "tests/support/victim.h"

namespace oddrank::collectives {
namespace {

using snapshot::CallKind;
using snapshot::Capture;
using snapshot::ThreadCapture;

Result<UniqueFd> open_module(pid_t, const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return fd.valid() ? Result<UniqueFd>(std::move(fd)) : fail(Errc::kIo, "cannot open " + path);
}

std::chrono::nanoseconds groups_took{0};  // of the last read
std::optional<std::chrono::milliseconds> group_timeout;

Capture look(pid_t pid) {
  Capture capture;
  capture.processes.emplace_back();
  capture.processes[0].pid = pid;
  const auto target = attach::LiveTarget::open(pid);
  REQUIRE(target);
  stacks::CollectOptions options;
  options.visit_python = [&capture](const cpython::PythonProcess& python) {
    const auto began = std::chrono::steady_clock::now();
    collect_groups(python, capture.tables, capture.processes[0]);
    groups_took = std::chrono::steady_clock::now() - began;
    group_timeout = read_group_timeout(python);
  };
  REQUIRE(stacks::collect_stacks(**target, options, capture.tables, capture.processes[0]));
  elf::name_frames(capture, open_module);
  find_calls(capture);
  return capture;
}

// Returns the function of the victim that a thread is in: its innermost frame of torch_calls.py.
std::string function_of(const Capture& capture, const ThreadCapture& thread) {
  for (const auto id : capture.tables.stack(thread.samples.back().stack).frames) {
    const snapshot::Frame& frame = capture.tables.frame(id);
    if (capture.tables.text(frame.file).ends_with("torch_calls.py")) {
      const std::string name(capture.tables.text(frame.function));
      return name.substr(name.rfind('.') + 1);
    }
  }
  return {};
}

// Returns the calls by the function of the victim that makes them; gloo's threads have none.
std::map<std::string, const ThreadCapture*> calls_of(const Capture& capture) {
  std::map<std::string, const ThreadCapture*> calls;
  for (const ThreadCapture& thread : capture.processes[0].threads) {
    const std::string name = thread.call ? function_of(capture, thread) : std::string();
    if (!name.empty()) {
      calls[name] = &thread;
    }
  }
  return calls;
}

class Job {
 public:
  explicit Job(const std::string& python) {
    std::string name = (std::filesystem::temp_directory_path() / "oddrank-calls-XXXXXX").string();
    folder_ = ::mkdtemp(name.data()) != nullptr ? name : std::string();
    for (const char* rank : {"1", "0"}) {
      test::VictimOptions options;
      options.environment = {{"RANK", rank},
                             {"WORLD_SIZE", "2"},
                             {"GLOO_SOCKET_IFNAME", "lo"},
                             {"OMP_NUM_THREADS", "1"}};
      auto victim = test::Victim::start(
          {python, test::victim_script("torch_calls.py"), folder_ + "/store"}, options);
      REQUIRE(victim);
      ranks_.push_back(*std::move(victim));
    }
    // Importing torch alone takes seconds on a loaded machine.
    for (test::Victim& rank : ranks_) {
      REQUIRE(rank.wait_line("ready", Deadline::after(std::chrono::seconds(50))));
    }
  }
  ~Job() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  Job(Job&&) = delete;
  Job& operator=(Job&&) = delete;

  pid_t pid() const { return ranks_.back().pid(); }

 private:
  std::string folder_;
  std::vector<test::Victim> ranks_;
};

// Reads again until every thread is where it will stay: nothing else shows that from outside.
Capture look_until_hung(pid_t pid, std::size_t calls) {
  const Deadline deadline = test::Victim::soon();
  Capture capture = look(pid);
  while (calls_of(capture).size() < calls && !deadline.passed()) {
    capture = look(pid);
  }
  return capture;
}

TEST_CASE("every call of a real gloo rank is found, with its group if there is evidence") {
  const auto python = test::torch_python();
  if (!python) {
    ODDRANK_SKIP("no Python with PyTorch: set ODDRANK_TORCH_PYTHON, or run scripts/setup");
  }
  const Job job(*python);
  const Capture capture = look_until_hung(job.pid(), 10);
  const auto calls = calls_of(capture);
  struct Expected {
    std::string function;
    std::string op;
    CallKind kind;
    bool whole_world;
    std::int32_t root;
    std::int32_t peer;
    std::string group = {};  // torch's own name
  };
  const std::vector<Expected> expected = {
      {"all_reduce", "all_reduce", CallKind::kCollective, true, -1, -1},
      {"all_reduce_none", "all_reduce", CallKind::kCollective, true, -1, -1},
      {"all_reduce_group", "all_reduce", CallKind::kCollective, false, -1, -1, "1"},
      {"broadcast", "broadcast", CallKind::kCollective, true, 1, -1},
      {"broadcast_group", "broadcast", CallKind::kCollective, false, 1, -1, "1"},
      {"recv", "recv", CallKind::kRecv, true, -1, 1},
      {"barrier", "barrier", CallKind::kCollective, true, -1, -1},
      {"object_list", "broadcast", CallKind::kCollective, true, 1, -1},
      {"work", "", CallKind::kCollective, false, -1, -1},
      {"main", "all_reduce", CallKind::kCollective, false, -1, -1},  // DDP's backward
  };
  for (const Expected& each : expected) {
    INFO("in " << each.function << "()");
    const auto at = calls.find(each.function);
    REQUIRE(at != calls.end());
    const snapshot::CollectiveCall& call = *at->second->call;
    INFO(capture.tables.text(call.evidence));
    CHECK(capture.tables.text(call.op) == each.op);
    CHECK(call.kind == each.kind);
    CHECK(call.whole_world == each.whole_world);
    CHECK(call.root == each.root);
    CHECK(call.peer == each.peer);
    CHECK(!capture.tables.text(call.evidence).empty());
    CHECK(capture.tables.text(call.group) == each.group);
    CHECK(capture.tables.text(call.members) == (each.group.empty() ? "" : "0-1"));
  }
  const auto& groups = capture.processes[0].groups;
  REQUIRE(groups.size() == 2);
  CHECK(groups[0].is_default);
  CHECK(capture.tables.text(groups[0].name) == "0");
  CHECK(capture.tables.text(groups[0].members).empty());
  CHECK(!groups[1].is_default);
  CHECK(capture.tables.text(groups[1].backend).find("gloo") != std::string::npos);
  CHECK(capture.tables.text(groups[1].members) == "0-1");
  CHECK(group_timeout == std::chrono::minutes(47));  // as in torch_calls.py
  const auto milliseconds = std::chrono::duration<double, std::milli>(groups_took).count();
  std::printf("groups read in %.2f ms\n", milliseconds);
  CHECK(milliseconds < 1000);  // not a measurement: debug builds on a busy machine pass, too
  const auto& backward = *calls.at("main")->call;
  CHECK(capture.tables.text(backward.evidence) == "frame c10d::Reducer::finalize_backward");
}

}  // namespace
}  // namespace oddrank::collectives
