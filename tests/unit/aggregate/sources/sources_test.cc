// What RAS, logs and devices add to the stacks, and how far each is trusted.
#include <algorithm>

#include "aggregate/diagnose.h"
#include "aggregate/evidence/odd_devices.h"
#include "aggregate/sources/ras_job.h"
#include "tests/support/catch.h"
#include "tests/support/hung_jobs.h"

namespace oddrank::aggregate {
namespace {

using snapshot::RasCommunicator;
using snapshot::RasPresence;
using snapshot::RasRank;
using tests::CaptureBuilder;

constexpr std::size_t kAllReduce = 4;

// Adds RAS data: each node's agent reports its own two ranks; all have launched `count` AllReduces.
void add_ras(CaptureBuilder& job, std::int64_t count) {
  for (std::uint32_t node = 0; node < 4; ++node) {
    RasCommunicator communicator;
    communicator.node = node;
    communicator.hash = job.capture.tables.string("0x1 0x2:0x3");
    communicator.version = job.capture.tables.string("2.28.9");
    communicator.size = 8;
    for (const std::int32_t rank :
         {2 * static_cast<std::int32_t>(node), 2 * static_cast<std::int32_t>(node) + 1}) {
      RasRank row;
      row.rank = rank;
      row.pid = row.reported_pid = tests::pid_of(rank);
      row.counts[kAllReduce] = count;
      row.later = row.counts;
      communicator.ranks.push_back(row);
    }
    job.capture.collectives.ras.push_back(communicator);
  }
}

RasRank& member(CaptureBuilder& job, std::int32_t rank) {
  return job.capture.collectives.ras.at(static_cast<std::size_t>(rank / 2))
      .ranks.at(static_cast<std::size_t>(rank % 2));
}

const SourceFinding* source(const Diagnosis& report, std::string_view name) {
  const auto at = std::find_if(report.sources.begin(), report.sources.end(),
                               [name](const SourceFinding& one) { return one.source == name; });
  return at == report.sources.end() ? nullptr : &*at;
}

TEST_CASE("RAS: a rank that is behind while nothing moves is possible, and no more") {
  CaptureBuilder job = tests::eight_ranks(tests::in_all_reduce());
  add_ras(job, 42);
  member(job, 3).counts[kAllReduce] = member(job, 3).later[kAllReduce] = 41;
  const Diagnosis report = diagnose(job.capture);
  const SourceFinding* ras = source(report, "RAS");
  REQUIRE(ras != nullptr);
  INFO(ras->text);
  CHECK(ras->ranks == std::vector<std::int32_t>{3});
  CHECK(ras->text.find("rank 3 (n1, pid") != std::string::npos);
  CHECK(ras->text.find("launched AllReduce 41 times, the others 42") != std::string::npos);
  CHECK(ras->text.find("no count moved") != std::string::npos);
  if (!report.verdict.culprits.empty()) {
    CHECK(report.verdict.culprits[0].rank == 3);
    CHECK(report.verdict.confidence == Confidence::kPossible);
  }
}

// A thread that waits for its device: for what, nothing tells.
tests::ThreadSpec in_device() {
  tests::ThreadSpec spec = tests::waiting_on(snapshot::WaitOn::kDevice);
  spec.state = 'R';
  return spec;
}

TEST_CASE("RAS: it is likely if the stacks show that the others wait, and this rank does not") {
  CaptureBuilder job = tests::eight_ranks(in_device());
  add_ras(job, 42);
  member(job, 3).counts[kAllReduce] = member(job, 3).later[kAllReduce] = 41;
  const auto verdict = [&job] { return diagnose(job.capture).verdict; };
  INFO(verdict().summary);
  CHECK(verdict().kind == Kind::kDeviceStall);  // it waits for its device, too
  replace(job, 3, tests::sleeping());
  INFO(verdict().summary);
  REQUIRE(verdict().culprits.size() == 1);
  CHECK(verdict().culprits[0].rank == 3);
  CHECK(verdict().confidence == Confidence::kLikely);
  replace(job, 6, tests::sleeping());  // has launched it, and does not wait for its end
  CHECK(verdict().confidence != Confidence::kLikely);
}

TEST_CASE("RAS: that a stopped rank has launched less is no news") {
  CaptureBuilder job = tests::eight_ranks(in_device());
  add_ras(job, 42);
  member(job, 3).counts[kAllReduce] = member(job, 3).later[kAllReduce] = 41;
  tests::ThreadSpec stopped = tests::sleeping();
  stopped.state = 'T';
  replace(job, 3, stopped);
  const Verdict verdict = diagnose(job.capture).verdict;
  CHECK(verdict.kind == Kind::kStoppedRank);
  REQUIRE(verdict.culprits.size() == 1);
  CHECK(verdict.culprits[0].rank == 3);
}

TEST_CASE("RAS: no rank is behind if counts move, or were read only once") {
  CaptureBuilder job = tests::eight_ranks(tests::in_all_reduce());
  add_ras(job, 42);
  std::vector<std::int32_t> behind;
  SECTION("they move") {
    member(job, 3).counts[kAllReduce] = member(job, 3).later[kAllReduce] = 41;
    member(job, 0).later[kAllReduce] = 43;
  }
  SECTION("once") {
    for (std::int32_t rank = 0; rank < 8; ++rank) {
      member(job, rank).later = snapshot::kNoRasCounts;
    }
    member(job, 3).counts[kAllReduce] = 41;
  }
  SECTION("two ranks are, in two communicators: nobody is accused") {
    behind = {3, 6};
    member(job, 3).counts[kAllReduce] = member(job, 3).later[kAllReduce] = 41;
    for (RasCommunicator other : std::vector(job.capture.collectives.ras)) {
      other.hash = job.capture.tables.string("0x7 0x8:0x9");
      for (RasRank& row : other.ranks) {
        row.counts[kAllReduce] = row.later[kAllReduce] = row.rank == 6 ? 9 : 10;
      }
      job.capture.collectives.ras.push_back(other);
    }
  }
  const Diagnosis report = diagnose(job.capture);
  REQUIRE(source(report, "RAS") != nullptr);
  CHECK(source(report, "RAS")->ranks == behind);
  CHECK(report.verdict.culprits.empty());
}

TEST_CASE("RAS: equal counts prove nothing, and a missing member is reported") {
  CaptureBuilder job = tests::eight_ranks(tests::in_all_reduce());
  add_ras(job, 42);
  SECTION("equal") {
    const Diagnosis report = diagnose(job.capture);
    REQUIRE(source(report, "RAS") != nullptr);
    CHECK(source(report, "RAS")->text.find("all launched the same") != std::string::npos);
  }
  SECTION("missed by one node, known by its own") {
    RasRank missed = member(job, 5);
    missed.pid = 0;
    missed.presence = RasPresence::kMissing;
    missed.counts = missed.later = snapshot::kNoRasCounts;
    job.capture.collectives.ras[0].ranks.push_back(missed);
    CHECK(source(diagnose(job.capture), "RAS")->text.find("did not answer") == std::string::npos);
    member(job, 5) = missed;
    CHECK(source(diagnose(job.capture), "RAS")->text.find("did not answer") != std::string::npos);
  }
}

TEST_CASE("NCCL memory: counts follow the rule for RAS, and the report names their source") {
  CaptureBuilder job = tests::eight_ranks(tests::in_all_reduce());
  add_ras(job, 42);
  member(job, 3).counts[kAllReduce] = member(job, 3).later[kAllReduce] = 41;
  const auto read = [&job](std::int32_t rank) {
    member(job, rank).presence = RasPresence::kMemory;
  };
  SECTION("all of them: RAS was silent") {
    for (std::int32_t rank = 0; rank < 8; ++rank) {
      read(rank);
    }
    const Diagnosis report = diagnose(job.capture);
    const SourceFinding* memory = source(report, "NCCL memory");
    REQUIRE(memory != nullptr);
    CHECK(memory->ranks == std::vector<std::int32_t>{3});
    CHECK(memory->text.find("launched AllReduce 41 times, the others 42") != std::string::npos);
    CHECK(memory->text.find("no count moved between two looks") != std::string::npos);
    CHECK(memory->text.find("RAS") == std::string::npos);
    for (const Culprit& culprit : report.verdict.culprits) {
      CHECK(culprit.rank == 3);
      CHECK(report.verdict.confidence == Confidence::kPossible);
    }
  }
  SECTION("one that RAS missed") {
    read(3);
    RasRank missed = member(job, 3);
    missed.presence = RasPresence::kMissing;
    missed.counts = missed.later = snapshot::kNoRasCounts;
    job.capture.collectives.ras[0].ranks.push_back(missed);
    const Diagnosis report = diagnose(job.capture);
    const SourceFinding* both = source(report, "RAS and NCCL memory");
    REQUIRE(both != nullptr);
    CHECK(both->ranks == std::vector<std::int32_t>{3});
    CHECK(both->text.find("RAS told nothing of rank 3 (n1, pid") != std::string::npos);
    CHECK(both->text.find("did not answer") == std::string::npos);
  }
  SECTION("the service was queried only once: no rank is named") {
    read(3);
    for (const std::int32_t rank : {0, 1, 2, 4, 5, 6, 7}) {
      member(job, rank).later = snapshot::kNoRasCounts;
    }
    const Diagnosis report = diagnose(job.capture);
    const SourceFinding* both = source(report, "RAS and NCCL memory");
    REQUIRE(both != nullptr);
    CHECK(both->ranks.empty());
    CHECK(both->text.find("no count moved") == std::string::npos);
  }
}

TEST_CASE("devices: busy at low power without memory traffic is not work") {
  snapshot::Device device;
  device.utilization = 100;
  device.memory_utilization = 0;
  device.power_mw = 118'000;
  device.power_limit_mw = 400'000;
  CHECK(spins(device));
  device.memory_utilization = 60;
  CHECK_FALSE(spins(device));
  device.memory_utilization = 0;
  device.power_mw = 390'000;
  CHECK_FALSE(spins(device));
  device.power_mw = -1;
  CHECK_FALSE(spins(device));
  CHECK_FALSE(spins(snapshot::Device{}));
}

TEST_CASE("devices: oddities are reported, with their ranks") {
  CaptureBuilder job = tests::eight_ranks(tests::in_all_reduce());
  for (std::int32_t rank = 0; rank < 4; ++rank) {
    snapshot::Device device;
    device.node = static_cast<std::uint32_t>(rank / 2);
    device.index = rank % 2;
    device.utilization = 100;
    device.memory_utilization = 0;
    device.power_mw = 118'000;
    device.power_limit_mw = 400'000;
    device.pids = {tests::pid_of(rank)};
    device.ecc_errors = rank == 3 ? 2 : 0;
    job.capture.collectives.devices.push_back(device);
  }
  auto& tables = job.capture.tables;
  const auto active = tables.string("ACTIVE");
  const auto down = tables.string("DOWN");
  const auto polling = tables.string("Polling");
  job.capture.collectives.ports = {
      {0, tables.string("mlx5_0"), 1, active, {}, {}, 0, 0, 1, 1},
      {0, tables.string("mlx5_1"), 1, down, polling, {}, 1, 0, 1, 1},
      {0, tables.string("mlx5_2"), 1, down, polling, {}, 0, 0, 1, 1},  // never was up
      {1, tables.string("mlx5_0"), 1, down, polling, {}, 9, 0, 1, 1},  // no other one is up
  };
  FrameModel model(job.capture.tables);
  const JobView view(job.capture, model);
  const auto sentences = device_sentences(view);
  REQUIRE(sentences.size() == 3);
  CHECK(sentences[0].find("GPU 0-1 on n0, GPU 0-1 on n1 (ranks 0-3): 100 % busy at 118 of 400 W") ==
        0);
  CHECK(sentences[1].find("GPU 1 on n1 (rank 3): memory errors") == 0);
  CHECK(sentences[2] == "mlx5_1 port 1 on n0 is DOWN (Polling)");
}

TEST_CASE("devices: what the driver reported, and errors of NVLinks that one alone has") {
  CaptureBuilder job = tests::eight_ranks(tests::in_all_reduce());
  for (std::int32_t rank = 0; rank < 4; ++rank) {
    snapshot::Device device;
    device.node = static_cast<std::uint32_t>(rank / 2);
    device.index = rank % 2;
    device.pids = {tests::pid_of(rank)};
    device.xid = 0;
    device.nvlink_errors = rank == 1 ? 412 : 0;
    job.capture.collectives.devices.push_back(device);
  }
  auto& gpus = job.capture.collectives.devices;
  gpus[3].xid = 31;
  gpus[3].xid_ago_s = 41;
  gpus[2].xid = 92;
  gpus[2].xid_ago_s = 4000;
  gpus[2].xid_text = job.capture.tables.string("92, pid=7, High single-bit ECC error rate");
  FrameModel model(job.capture.tables);
  const JobView view(job.capture, model);
  CHECK(
      device_sentences(view) ==
      std::vector<std::string>{
          "n0: GPU 1 counts 412 errors of its NVLinks, and no other does",
          "GPU 0 on n1 (rank 2) had an error 66 min ago: Xid 92, pid=7, High single-bit ECC error "
          "rate",
          "GPU 1 on n1 (rank 3) had an error 41 s ago: Xid 31 (access to memory that is not "
          "mapped; usually the program's)"});
  // Errors come within the capture, or on several GPUs.
  gpus[1].nvlink_errors_later = 415;
  CHECK(device_sentences(view).front() ==
        "n0: GPU 1 has counted 3 errors of its NVLinks within this capture, and no other has any");
  gpus[0].nvlink_errors = 1;
  CHECK(device_sentences(view).size() == 2);
}

TEST_CASE("log: nccl2's watchdog does not say which call it gave up") {
  CaptureBuilder job = tests::input_stall_job();
  snapshot::LogLine timeout;
  timeout.kind = snapshot::LogKind::kWatchdogTimeout;
  timeout.rank = 3;
  job.capture.collectives.log = {timeout};
  const Diagnosis report = diagnose(job.capture);
  REQUIRE(source(report, "log") != nullptr);
  CHECK(source(report, "log")->text == "PyTorch's watchdog gave up a call on rank 3");
}

TEST_CASE("log: the desync report is compared with the verdict, and decides nothing") {
  CaptureBuilder job = tests::input_stall_job();  // rank 5
  snapshot::LogLine timeout;
  timeout.kind = snapshot::LogKind::kWatchdogTimeout;
  timeout.rank = 0;
  timeout.sequence = 12;
  timeout.op = job.capture.tables.string("ALLREDUCE");
  snapshot::LogLine desync;
  desync.kind = snapshot::LogKind::kDesync;
  desync.behind = {2};
  job.capture.collectives.log = {timeout, desync};
  const Diagnosis report = diagnose(job.capture);
  const SourceFinding* log = source(report, "log");
  REQUIRE(log != nullptr);
  CHECK(log->text ==
        "PyTorch's watchdog gave up ALLREDUCE #12 on rank 0; its desync report names rank 2");
  CHECK(log->agrees == false);
  CHECK(report.verdict.culprits.at(0).rank == 5);
}

}  // namespace
}  // namespace oddrank::aggregate
