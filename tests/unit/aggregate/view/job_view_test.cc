#include "aggregate/view/job_view.h"

#include "tests/support/catch.h"
#include "tests/support/hung_jobs.h"

namespace oddrank::aggregate {

using tests::CaptureBuilder;
using tests::eight_ranks;
using tests::in_all_reduce;
using tests::pid_of;

namespace {

// Returns the description of rank 7, which has no process.
RankView missing(const snapshot::Capture& capture) {
  FrameModel model(capture.tables);
  const JobView view(capture, model);
  return view.ranks().at(view.index_of(7));
}

CaptureBuilder without_7() {
  CaptureBuilder job = eight_ranks(in_all_reduce());
  job.remove(pid_of(7));
  return job;
}

void set_variable(CaptureBuilder& job, std::string_view name, std::string_view value) {
  for (auto& process : job.capture.processes) {
    process.environment.emplace_back(job.capture.tables.string(name),
                                     job.capture.tables.string(value));
  }
}

}  // namespace

TEST_CASE("ranks are sorted, with their children and deciders") {
  const CaptureBuilder job = tests::input_stall_job();
  FrameModel model(job.capture.tables);
  const JobView view(job.capture, model);
  REQUIRE(view.ranks().size() == 8);
  CHECK(view.expected() == 8);
  CHECK(view.all_read());
  const RankView& culprit = view.ranks()[view.index_of(5)];
  CHECK(culprit.pid() == pid_of(5));
  CHECK(culprit.host == "n2");
  REQUIRE(culprit.children.size() == 1);
  CHECK(culprit.children[0]->pid == 3380);
  REQUIRE(culprit.decider != nullptr);
  CHECK(culprit.decider->tid == pid_of(5));
  CHECK(view.index_of(8) == JobView::kNone);
  CHECK(JobView::name(culprit) == "rank 5 (n2, pid 3005)");
  CHECK(view.skew_us() == 15000);
}

TEST_CASE("a rank is absent only if its node was searched") {
  SECTION("all nodes of the job answered") {
    CHECK(missing(without_7().capture).presence == Presence::kAbsent);
  }
  SECTION("a node is silent") {
    CaptureBuilder job = without_7();
    job.silence("n1", "timed out");
    const RankView rank = missing(job.capture);
    CHECK(rank.presence == Presence::kUnread);
    CHECK(rank.host == "n1");
    CHECK(rank.why == "timed out");
  }
  SECTION("a node could be read only in part") {
    CaptureBuilder job = without_7();
    job.capture.nodes[3].why = "pid 7 (python3) did not say in time what job it is of";
    CHECK(missing(job.capture).presence == Presence::kUnread);
    CHECK(missing(job.capture).why == job.capture.nodes[3].why);
    job.capture.nodes[3].expected_ranks = {6, 7};
    CHECK(missing(job.capture).presence == Presence::kUnread);
  }
  SECTION("a node of the job was not read") {
    CaptureBuilder job = without_7();
    job.capture.job.hosts.emplace_back("n4");
    CHECK(missing(job.capture).presence == Presence::kUnread);
  }
  SECTION("only one node was read") {
    CaptureBuilder job = without_7();
    job.capture.job.source = snapshot::JobSource::kNode;
    CHECK(missing(job.capture).presence == Presence::kUnread);
  }
  SECTION("the launcher put it on a node that answered, and another is silent") {
    CaptureBuilder job = without_7();
    job.silence("n1", "timed out");
    job.capture.nodes[3].expected_ranks = {6, 7};
    const RankView rank = missing(job.capture);
    CHECK(rank.presence == Presence::kAbsent);
    CHECK(rank.launched);
    CHECK(rank.host == "n3");
  }
}

TEST_CASE("hosts that were given by hand are all of the job's only if its launcher says so") {
  CaptureBuilder job = without_7();
  job.capture.job.source = snapshot::JobSource::kHosts;
  SECTION("nobody says how many there are") {
    CHECK(missing(job.capture).presence == Presence::kUnread);
  }
  SECTION("torchrun has started its agents on these four") {
    set_variable(job, "GROUP_WORLD_SIZE", "4");
    CHECK(missing(job.capture).presence == Presence::kAbsent);
  }
  SECTION("torchrun has started agents on five") {
    set_variable(job, "GROUP_WORLD_SIZE", "5");
    CHECK(missing(job.capture).presence == Presence::kUnread);
  }
  SECTION("two ranks a node make four nodes") {
    set_variable(job, "LOCAL_WORLD_SIZE", "2");
    CHECK(missing(job.capture).presence == Presence::kAbsent);
  }
  SECTION("one rank a node makes eight") {
    set_variable(job, "LOCAL_WORLD_SIZE", "1");
    CHECK(missing(job.capture).presence == Presence::kUnread);
  }
  SECTION("SLURM's step has more nodes than were given") {
    set_variable(job, "SLURM_NNODES", "6");
    CHECK(missing(job.capture).presence == Presence::kUnread);
  }
}

TEST_CASE("one node knows its own ranks from the variables that their launcher set") {
  CaptureBuilder job = without_7();
  job.capture.job.source = snapshot::JobSource::kNode;
  SECTION("all ranks meet on this machine") {
    set_variable(job, "MASTER_ADDR", "127.0.0.1");
    CHECK(missing(job.capture).presence == Presence::kAbsent);
  }
  SECTION("all ranks are local") {
    set_variable(job, "LOCAL_WORLD_SIZE", "8");
    job.process(pid_of(3)).local_rank = 3;
    CHECK(missing(job.capture).presence == Presence::kAbsent);
  }
  SECTION("all ranks are local, but this one is alone in its container") {
    set_variable(job, "LOCAL_WORLD_SIZE", "8");
    auto& rank = job.process(pid_of(3));
    rank.local_rank = 3;
    rank.pid = 1;
    CHECK(missing(job.capture).presence == Presence::kUnread);
  }
  SECTION("this node has ranks 0-3") {
    set_variable(job, "LOCAL_WORLD_SIZE", "4");
    job.process(pid_of(3)).local_rank = 3;
    CHECK(missing(job.capture).presence == Presence::kUnread);
  }
  SECTION("numbers that make no sense are ignored") {
    set_variable(job, "LOCAL_WORLD_SIZE", "99999999999");
    set_variable(job, "MASTER_ADDR", "10.0.0.1");
    CHECK(missing(job.capture).presence == Presence::kUnread);
  }
}

TEST_CASE("a rank that may be in another container of this machine is not gone") {
  CaptureBuilder job = without_7();
  job.capture.job.source = snapshot::JobSource::kNode;
  set_variable(job, "MASTER_ADDR", "127.0.0.1");
  auto& tables = job.capture.tables;
  auto& rank = job.process(pid_of(3));
  auto& wait = rank.threads.front().wait;
  const auto connect = [&](const char* local, const char* peer) {
    wait.rare.edit().local = tables.string(local);
    wait.rare.edit().peer = tables.string(peer);
    rank.connections = {{wait.rare->local, wait.rare->peer}};
  };
  SECTION("a rank is the first process of its container") {
    rank.pid = 1;
    CHECK(missing(job.capture).presence == Presence::kUnread);
    CHECK(missing(job.capture).why == "not in the containers that were looked at");
  }
  SECTION("a rank waits for a process of this machine that nobody sees") {
    connect("127.0.0.1:50001", "127.0.0.2:40001");
    CHECK(missing(job.capture).presence == Presence::kUnread);
  }
  SECTION("by an address of its network") {
    connect("10.0.0.1:50001", "10.0.0.1:40001");
    CHECK(missing(job.capture).presence == Presence::kUnread);
  }
  SECTION("somebody whom nobody sees is connected with the job's store") {
    set_variable(job, "MASTER_PORT", "29500");
    connect("127.0.0.1:29500", "127.0.0.1:50001");
    wait = {};
    CHECK(missing(job.capture).presence == Presence::kUnread);
    rank.connections = {{tables.string("127.0.0.1:8080"), tables.string("127.0.0.1:50001")}};
    CHECK(missing(job.capture).presence == Presence::kAbsent);
    rank.connections = {{tables.string("10.0.0.1:50001"), tables.string("10.0.0.2:29500")}};
    CHECK(missing(job.capture).presence == Presence::kAbsent);
  }
  SECTION("its holder was found, in a process outside of the job") {
    connect("10.0.0.1:50001", "10.0.0.1:40001");
    wait.holder_pid = 4711;
    CHECK(missing(job.capture).presence == Presence::kAbsent);
  }
  SECTION("a connection with another machine shows nothing") {
    connect("10.0.0.1:50001", "10.0.0.2:40001");
    CHECK(missing(job.capture).presence == Presence::kAbsent);
  }
  SECTION("a process here has the other end") {
    connect("127.0.0.1:50001", "127.0.0.1:40001");
    rank.connections.clear();
    CHECK(missing(job.capture).presence == Presence::kAbsent);
  }
  SECTION("a process of another container has it, which was read") {
    connect("127.0.0.1:50001", "127.0.0.1:40001");
    job.process(pid_of(4)).connections = {{wait.rare->peer, wait.rare->local}};
    CHECK(missing(job.capture).presence == Presence::kAbsent);
  }
}

TEST_CASE("a rank without a core is not gone, whatever the others' variables say") {
  CaptureBuilder job = without_7();
  job.capture.job.source = snapshot::JobSource::kCore;
  set_variable(job, "MASTER_ADDR", "127.0.0.1");
  CHECK(missing(job.capture).presence == Presence::kUnread);
  CHECK(missing(job.capture).why == "no core file of it was given");
}

TEST_CASE("a core that does not tell its rank may be that of a rank without one") {
  CaptureBuilder job = without_7();
  job.capture.job.source = snapshot::JobSource::kCore;
  job.rank(-1, "n1", 99);
  CHECK(missing(job.capture).why == "none of the core files that tell their rank is of it");
  FrameModel model(job.capture.tables);
  const JobView view(job.capture, model);
  CHECK(view.ranks().size() == 9);
  CHECK(view.expected() == 8);
}

TEST_CASE("a rank is not gone while a process that does not tell its rank lives on its node") {
  CaptureBuilder job = without_7();
  job.capture.job.source = snapshot::JobSource::kNode;
  set_variable(job, "MASTER_ADDR", "127.0.0.1");
  SECTION("it may be that rank") {
    job.rank(-1, "n0", 99);
    CHECK(missing(job.capture).presence == Presence::kUnread);
    CHECK(missing(job.capture).why == "it may be pid 99, which does not tell its rank");
  }
  SECTION("a zombie shows that it is gone") {
    job.rank(-1, "n0", 99).state = 'Z';
    CHECK(missing(job.capture).presence == Presence::kAbsent);
  }
}

TEST_CASE("a leftover does not hide the rank") {
  CaptureBuilder job = eight_ranks(in_all_reduce());
  job.rank(3, "n1", 99).state = 'Z';
  FrameModel model(job.capture.tables);
  const JobView view(job.capture, model);
  CHECK(view.ranks().size() == 8);
  CHECK(view.ranks()[view.index_of(3)].pid() == pid_of(3));
  REQUIRE(view.notes().size() == 1);
  CHECK(view.notes()[0] == "rank 3 appears twice: pid 99 on n1 was left out");
}

TEST_CASE("dead, partial and unread are distinguished") {
  CaptureBuilder job = eight_ranks(in_all_reduce());
  job.process(pid_of(1)).state = 'Z';
  job.process(pid_of(2)).read = snapshot::ReadState::kPartial;
  job.process(pid_of(2)).threads.clear();
  job.process(pid_of(6)).read = snapshot::ReadState::kPartial;  // its Python stack is known
  job.process(pid_of(3)).read = snapshot::ReadState::kNone;
  job.process(pid_of(3)).state = '?';
  job.process(pid_of(4)).read = snapshot::ReadState::kNone;  // its state is known
  FrameModel model(job.capture.tables);
  const JobView view(job.capture, model);
  CHECK(view.ranks()[1].presence == Presence::kDead);
  CHECK(view.ranks()[2].presence == Presence::kPartial);
  CHECK(view.ranks()[3].presence == Presence::kUnread);
  CHECK(view.ranks()[4].presence == Presence::kPartial);
  CHECK((view.ranks()[5].presence == Presence::kRead && !view.ranks()[5].in_part()));
  CHECK((view.ranks()[6].presence == Presence::kRead && view.ranks()[6].in_part()));
}

TEST_CASE("processes given by pid are ranks without a number") {
  CaptureBuilder job({"n0"}, -1);
  job.thread(job.rank(-1, "n0", 71), tests::sleeping());
  job.thread(job.rank(-1, "n0", 70), tests::sleeping());
  FrameModel model(job.capture.tables);
  const JobView view(job.capture, model);
  REQUIRE(view.ranks().size() == 2);
  CHECK(JobView::name(view.ranks()[0]) == "pid 70 (n0)");
}

TEST_CASE("damaged numbers do not make a job of millions") {
  CaptureBuilder job = eight_ranks(in_all_reduce());
  job.capture.job.world_size = 2'000'000'000;
  job.capture.nodes[0].expected_ranks = {-5, 2'000'000'000};
  job.process(pid_of(0)).node = 77;
  FrameModel model(job.capture.tables);
  const JobView view(job.capture, model);
  CHECK(view.ranks().size() == 8);
  CHECK(view.ranks()[0].host.empty());
}

}  // namespace oddrank::aggregate
