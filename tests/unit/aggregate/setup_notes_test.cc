// Ranks that do not run with the same set-up: who differs, and what is no difference.
#include "aggregate/setup_notes.h"

#include "snapshot/variable.h"
#include "tests/support/capture_builder.h"
#include "tests/support/catch.h"

namespace oddrank::aggregate {
namespace {

using tests::CaptureBuilder;
using Values = std::vector<std::string>;

// A rank for each value; ranks 0 and 1 are on n0, the next two on n1, and so on.
CaptureBuilder job_of(std::size_t ranks) {
  std::vector<std::string> hosts;
  for (std::size_t i = 0; i < (ranks + 1) / 2; ++i) {
    hosts.push_back("n" + std::to_string(i));
  }
  CaptureBuilder job(hosts, static_cast<std::int32_t>(ranks));
  for (std::size_t i = 0; i < ranks; ++i) {
    job.rank(static_cast<std::int32_t>(i), hosts[i / 2], static_cast<pid_t>(100 + i));
  }
  return job;
}

CaptureBuilder with_setup(std::string_view name, const Values& values) {
  CaptureBuilder job = job_of(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!values[i].empty()) {
      snapshot::add_setup(job.capture.tables, job.capture.processes[i], name, values[i]);
    }
  }
  return job;
}

CaptureBuilder with_variable(std::string_view name, const Values& values) {
  CaptureBuilder job = job_of(values.size());
  auto& tables = job.capture.tables;
  for (std::size_t i = 0; i < values.size(); ++i) {
    auto& environment = job.capture.processes[i].environment;
    environment.emplace_back(tables.string("RANK"), tables.string(std::to_string(i)));
    if (!values[i].empty()) {
      environment.emplace_back(tables.string(name), tables.string(values[i]));
    }
  }
  return job;
}

Values notes_of(const CaptureBuilder& job) {
  FrameModel model(job.capture.tables);
  return setup_notes(JobView(job.capture, model));
}

TEST_CASE("a rank with another version is named, with its node") {
  CHECK(
      notes_of(with_setup("PyTorch", {"2.13.0", "2.13.0", "2.13.0", "2.12.1"})) ==
      Values{"the set-up differs: rank 3 (n1) has PyTorch 2.12.1, all others have PyTorch 2.13.0"});
}

TEST_CASE("three versions are told, the rarest first") {
  CHECK(notes_of(with_setup("Linux", {"6.1", "6.1", "6.1", "6.1", "5.15", "5.10", "5.10"})) ==
        Values{"the set-up differs: rank 4 (n2) has Linux 5.15, ranks 5-6 (n[2-3]) have Linux "
               "5.10, most have Linux 6.1"});
}

TEST_CASE("halves are told apart, and nobody is the odd one") {
  CHECK(notes_of(with_setup("PyTorch", {"a", "a", "b", "b"})) ==
        Values{"the set-up differs: ranks 0-1 (n0) have PyTorch a, ranks 2-3 (n1) have PyTorch b"});
}

TEST_CASE("what is unknown, equal, or each rank's own is no difference") {
  CHECK(notes_of(with_setup("PyTorch", {"2.13.0", "2.13.0", "", ""})).empty());
  CHECK(notes_of(with_setup("PyTorch", {"2.13.0", "2.13.0"})).empty());
  CHECK(notes_of(with_setup("thing", {"a", "b", "c", "d"})).empty());
}

TEST_CASE("a variable that all must agree on may be set in one rank only") {
  CHECK(notes_of(with_variable("TORCH_DISTRIBUTED_DEBUG", {"", "", "DETAIL", ""})) ==
        Values{"the set-up differs: rank 2 (n1) has TORCH_DISTRIBUTED_DEBUG=DETAIL, all others "
               "have no TORCH_DISTRIBUTED_DEBUG"});
  CHECK(notes_of(with_variable("NCCL_PROTO", {"LL", "LL", "LL", ""})) ==
        Values{"the set-up differs: rank 3 (n1) has no NCCL_PROTO, all others have NCCL_PROTO=LL"});
}

TEST_CASE("variables in which ranks may differ, and those of unread ranks, are left out") {
  CHECK(notes_of(with_variable("LOCAL_RANK", {"0", "1", "0", "0"})).empty());
  CHECK(notes_of(with_variable("NCCL_DEBUG", {"INFO", "", "", ""})).empty());
  CaptureBuilder job = with_variable("NCCL_ALGO", {"Ring", "Ring", "Ring", ""});
  job.capture.processes[3].environment.clear();
  CHECK(notes_of(job).empty());
}

TEST_CASE("NCCL's version is that of a process's communicators") {
  CaptureBuilder job = job_of(4);
  auto& tables = job.capture.tables;
  for (std::uint32_t i = 0; i < 4; ++i) {
    auto& communicator = job.capture.collectives.ras.emplace_back();
    communicator.node = i / 2;
    communicator.version = tables.string(i == 1 ? "2.27.3" : "2.28.9");
    communicator.ranks.emplace_back().pid = static_cast<pid_t>(100 + i);
  }
  CHECK(notes_of(job) ==
        Values{"the set-up differs: rank 1 (n0) has NCCL 2.27.3, all others have NCCL 2.28.9"});
}

TEST_CASE("hostile texts are printable and cut, and there are few notes") {
  CaptureBuilder job = job_of(3);
  for (int i = 0; i < 100; ++i) {
    for (std::size_t rank = 0; rank < 3; ++rank) {
      snapshot::add_setup(job.capture.tables, job.capture.processes[rank],
                          "\x1b[31m" + std::to_string(i), std::string(1000, rank == 0 ? 'x' : 'y'));
    }
  }
  const Values notes = notes_of(job);
  REQUIRE(notes.size() == kMaxSetupNotes + 1);
  CHECK(notes.back() == "94 more notes on differences of the set-up");
  CHECK(notes.front().size() < 400);
  CHECK(notes.front().find('\x1b') == std::string::npos);
}

}  // namespace
}  // namespace oddrank::aggregate
