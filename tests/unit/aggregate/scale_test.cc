// Jobs of ten thousand ranks are diagnosed in seconds, even if thousands are to blame.
#include <ctime>

#include "aggregate/diagnose.h"
#include "report/report_text.h"
#include "tests/support/catch.h"
#include "tests/support/hung_jobs.h"

namespace oddrank::aggregate {

namespace {

constexpr std::int32_t kRanks = 10'000;

tests::CaptureBuilder big_job(std::int32_t culprits, bool listed) {
  tests::CaptureBuilder job({"n0"}, kRanks);
  tests::ThreadSpec waits = tests::in_all_reduce();
  if (listed) {
    waits.call->whole_world = false;
    for (std::int32_t rank = 0; rank < kRanks; ++rank) {
      waits.call->members.push_back(rank);
    }
  }
  for (std::int32_t rank = 0; rank < kRanks; ++rank) {
    auto& process = job.rank(rank, "n0", 10'000 + rank);
    job.thread(process, rank < culprits ? tests::in_loader(0) : waits);
  }
  return job;
}

}  // namespace

TEST_CASE("ten thousand ranks") {
  for (const std::int32_t culprits : {1, 4000}) {
    for (const bool listed : {false, true}) {
      DYNAMIC_SECTION(culprits << " culprits, members " << (listed ? "listed" : "the world")) {
        const auto job = big_job(culprits, listed);
        const std::clock_t began = std::clock();  // of the CPU: the machine may be busy
        const Diagnosis report = diagnose(job.capture);
        const std::string text = report::report_text(report, job.capture, {});
        const double took = static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC;
        INFO(took << " s");
        CHECK(report.verdict.kind == Kind::kInputStall);
        CHECK(text.size() < 10'000);
        CHECK(took < 20);  // a debug build with sanitizers
      }
    }
  }
}

}  // namespace oddrank::aggregate
