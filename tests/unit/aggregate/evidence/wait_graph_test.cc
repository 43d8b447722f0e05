#include "aggregate/evidence/wait_graph.h"

#include "aggregate/evidence/wait_chain.h"
#include "aggregate/rules/rule.h"
#include "tests/support/catch.h"
#include "tests/support/hung_jobs.h"
#include "tests/support/named_in.h"

namespace oddrank::aggregate {

using snapshot::CallKind;
using tests::CaptureBuilder;
using tests::named_in;
using tests::ThreadSpec;

namespace {

struct Built {
  explicit Built(CaptureBuilder builder)
      : job(std::move(builder)),
        model(job.capture.tables),
        view(job.capture, model),
        graph(build_wait_graph(view)),
        input(make_input(view, graph)) {}
  CaptureBuilder job;
  FrameModel model;
  JobView view;
  WaitGraph graph;
  RuleInput input;

  // The ranks that others wait for, and that wait for none.
  std::vector<std::size_t> roots() const {
    std::vector<std::size_t> found;
    for (std::size_t at = 0; at < graph.awaited.size(); ++at) {
      if (graph.awaited[at] && !graph.waits[at]) {
        found.push_back(at);
      }
    }
    return found;
  }
};

ThreadSpec transfer(CallKind kind, std::int32_t peer) {
  ThreadSpec spec = tests::in_all_reduce();
  spec.call = tests::CallSpec{};
  spec.call->kind = kind;
  spec.call->op = kind == CallKind::kSend ? "send" : "recv";
  spec.call->peer = peer;
  return spec;
}

}  // namespace

TEST_CASE("the root of the main job is the rank in its loader") {
  const Built built(tests::input_stall_job());
  CHECK(built.roots() == std::vector<std::size_t>{5});
  CHECK(waiters_of(built.graph, 5).size() == 7);
  const auto chain = chain_to(built.view, built.graph, 5);
  REQUIRE(chain.size() == 3);
  CHECK(chain[0].waiters == "0-4,6-7");
  CHECK(chain[0].waits_for == "5");
  CHECK(chain[0].on == "all_reduce in default group");
  CHECK(chain[1].waits_for == "pid 3380");
  CHECK(chain[2].waiters == "pid 3380");
  CHECK(chain[2].waits_for == "/home/ada/demo/data/shard-5.tar");
  CHECK(chain[2].on == "read()");
}

TEST_CASE("waits through several groups lead to one root") {
  const Built built(tests::three_dimensional_job());
  CHECK(built.roots() == std::vector<std::size_t>{2});
  CHECK(waiters_of(built.graph, 2).size() == 7);
  const auto chain = chain_to(built.view, built.graph, 2);
  REQUIRE(chain.size() == 4);
  CHECK(chain[0].waiters == "4-5,7");
  CHECK(chain[0].waits_for == "0-1,3");
  CHECK(chain[0].on == "recv");
}

TEST_CASE("an unknown group yields no edge") {
  const Built built(tests::unknown_job());
  CHECK(built.roots().empty());
  CHECK(built.graph.in_call[0]);
}

TEST_CASE("both sides of one transfer wait for no rank's program") {
  auto job = tests::eight_ranks(tests::sleeping());
  tests::replace(job, 0, transfer(CallKind::kSend, 1));
  tests::replace(job, 1, transfer(CallKind::kRecv, 0));
  const Built built(std::move(job));
  CHECK(built.roots().empty());
  CHECK(built.graph.in_call[0]);
}

TEST_CASE("two receivers wait for each other in a circle") {
  auto job = tests::eight_ranks(tests::sleeping());
  tests::replace(job, 0, transfer(CallKind::kRecv, 1));
  tests::replace(job, 1, transfer(CallKind::kRecv, 0));
  const Built built(std::move(job));
  CHECK(built.roots().empty());
  REQUIRE(built.input.blame.circles.size() == 1);
  CHECK(built.input.blame.circles[0].ranks == std::vector<std::size_t>{0, 1});
  CHECK(built.input.blame.circles[0].closed);
}

TEST_CASE("nonsensical peers lead nowhere") {
  auto job = tests::eight_ranks(tests::sleeping());
  tests::replace(job, 0, transfer(CallKind::kRecv, 0));
  tests::replace(job, 1, transfer(CallKind::kRecv, 4711));
  const Built built(std::move(job));
  CHECK(built.roots().empty());
}

TEST_CASE("a worker that waits for another rank's worker makes its rank wait for that rank") {
  constexpr pid_t kFirst = 3380;
  constexpr pid_t kSecond = 3381;
  CaptureBuilder job = tests::eight_ranks(tests::in_all_reduce());
  tests::replace(job, 4, tests::in_loader(kFirst));
  tests::replace(job, 5, tests::in_loader(kSecond));
  ThreadSpec locked = tests::waiting_on(snapshot::WaitOn::kLock);
  locked.wait.holder_pid = locked.wait.holder_tid = kSecond;
  locked.wait.holder_alive = snapshot::Known::kYes;
  job.thread(job.child(tests::pid_of(4), tests::host_of(4), kFirst), locked);
  job.thread(job.child(tests::pid_of(5), tests::host_of(5), kSecond), tests::sleeping());
  Built built(std::move(job));
  CHECK(built.graph.edge(4, 5) != nullptr);
  CHECK(named_in(built.job) == std::vector<std::int32_t>{5});
  const auto chain = chain_to(built.view, built.graph, 5);
  CHECK(chain.front().waits_for == "4-5");

  // It is that rank's, whatever that one waits for.
  tests::replace(built.job, 5, tests::in_all_reduce());
  const Built other(std::move(built.job));
  CHECK(other.graph.edge(4, 5) != nullptr);
  CHECK(named_in(other.job) == std::vector<std::int32_t>{5});
}

TEST_CASE("a circle of holders ends") {
  auto job = tests::input_stall_job();
  job.process(3380).threads[0].wait.holder_pid = tests::pid_of(5);
  const Built built(std::move(job));
  CHECK(built.graph.nodes.size() < 20);
  CHECK(chain_to(built.view, built.graph, 5).size() <= 16);
}

// Returns a job whose ranks from 2 on wait in a broadcast of rank 0, which is elsewhere.
tests::CaptureBuilder broadcast_from_rank_0() {
  auto spec = tests::in_all_reduce();
  spec.call->op = "broadcast";
  auto job = tests::eight_ranks(spec);
  for (auto& process : job.capture.processes) {
    process.threads[0].call->root = 0;
  }
  tests::replace(job, 0, tests::sleeping());
  return job;
}

TEST_CASE("a root that may have left its broadcast is waited for as a guess") {
  auto both = broadcast_from_rank_0();
  tests::replace(both, 1, tests::sleeping());
  const Built built(std::move(both));
  CHECK(built.input.is_assumed(0));
  CHECK(!built.input.is_assumed(1));
  const Built alone(broadcast_from_rank_0());
  CHECK(!alone.input.is_assumed(0));  // no other rank can be missing
}

// Rank 2 waits for an RPC's answer; a thread of each of `servers` runs a function for another rank.
// The function of `asking` waits for an RPC's answer itself.
CaptureBuilder rpc_job(const std::vector<std::int32_t>& servers, std::int32_t asking = -1) {
  CaptureBuilder job = tests::eight_ranks(tests::in_all_reduce());
  ThreadSpec caller = tests::in_all_reduce();
  caller.call.reset();
  caller.frames = {tests::py("rpc_sync", "/x/torch/distributed/rpc/api.py", 8)};
  tests::replace(job, 2, caller);
  for (const std::int32_t rank : servers) {
    ThreadSpec serves;
    serves.frames = {rank == asking ? tests::py("rpc_sync", "/x/torch/distributed/rpc/api.py", 8)
                                    : tests::py("load", "/home/ada/demo/load.py", 3),
                     tests::py("_run_function", "/x/torch/distributed/rpc/internal.py", 9)};
    job.thread(job.process(tests::pid_of(rank)), serves).tid = tests::pid_of(rank) + 500;
  }
  return job;
}

TEST_CASE("the caller of an RPC waits for the only rank that runs a function for others") {
  const Built one(rpc_job({4}));
  CHECK(one.view.ranks()[4].decider->tid == tests::pid_of(4) + 500);
  CHECK(one.graph.edge(2, 4) != nullptr);
  CHECK(one.roots() == std::vector<std::size_t>{4});
  const Built two(rpc_job({4, 5}));
  CHECK(two.graph.edge(2, 4) == nullptr);
  CHECK(two.view.ranks()[4].decider->tid == tests::pid_of(4));
}

TEST_CASE("of two ranks that run functions for others, one may wait for the other") {
  const Built built(rpc_job({4, 5}, 5));
  CHECK(built.graph.edge(2, 4)->assumed);
  CHECK(built.graph.edge(2, 5)->assumed);
  CHECK_FALSE(built.graph.edge(5, 4)->assumed);
  CHECK(built.roots() == std::vector<std::size_t>{4});
}

TEST_CASE("a driver of Ray waits for the worker whose loop runs something") {
  CaptureBuilder job = tests::eight_ranks(tests::sleeping());
  constexpr std::string_view kWorker = "/x/ray/_private/worker.py";
  ThreadSpec driver = tests::sleeping();
  driver.frames = {tests::py("Worker.get_objects", kWorker, 8)};
  tests::replace(job, 2, driver);
  ThreadSpec idle = tests::sleeping();
  idle.frames = {tests::py("Worker.main_loop", kWorker, 9)};
  ThreadSpec works = tests::sleeping();
  works.frames = {tests::py("load", "/home/ada/demo/load.py", 3),
                  tests::py("Worker.main_loop", kWorker, 9)};
  tests::replace(job, 3, idle);
  tests::replace(job, 4, works);
  const Built built(std::move(job));
  CHECK(built.graph.edge(2, 4) != nullptr);
  CHECK(built.graph.edge(2, 3) == nullptr);
  CHECK(built.roots() == std::vector<std::size_t>{4});
}

namespace {

// Returns a job in a quorum of torchft with its lighthouse, if it was read; the last rank is
// absent.
CaptureBuilder in_quorum(bool with_lighthouse, char state) {
  ThreadSpec quorum = tests::in_all_reduce();
  quorum.call->op = "quorum";
  quorum.call->group = "lighthouse";
  quorum.call->whole_world = false;
  quorum.call->members = {0, 1, 2, 3, 4, 5, 6, 7};
  CaptureBuilder job = tests::eight_ranks(quorum);
  tests::replace(job, 7, tests::sleeping());
  if (with_lighthouse) {
    snapshot::ProcessCapture& process = job.rank(-1, "n0", 4);
    process.role = snapshot::JobRole::kServer;
    ThreadSpec main = tests::sleeping();
    main.state = state;
    job.thread(process, main);
  }
  return job;
}

}  // namespace

TEST_CASE("a quorum waits for absent ranks, as far as it is known that the lighthouse works") {
  const Built read(in_quorum(true, 'S'));  // the lighthouse has no number: it comes first
  CHECK(read.roots() == std::vector<std::size_t>{8});
  CHECK_FALSE(read.input.is_assumed(8));
  const Built unread(in_quorum(false, 'S'));
  CHECK(unread.roots() == std::vector<std::size_t>{7});
  CHECK(unread.input.is_assumed(7));
}

TEST_CASE("a quorum waits for a lighthouse that is stopped") {
  const Built built(in_quorum(true, 'T'));
  CHECK(built.roots() == std::vector<std::size_t>{0, 8});
  const auto chain = chain_to(built.view, built.graph, 0);
  REQUIRE_FALSE(chain.empty());
  CHECK(chain.front().waiters == "0-6");
}

}  // namespace oddrank::aggregate
