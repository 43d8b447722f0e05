// A made-up job of any number of ranks that hangs because one rank waits for its loader: what
// verdict_scale and counts measure.
//
// It has eight ranks a node, tensor groups of eight, pipelines of sixteen stages and data groups
// over the rest. Ranks differ as real ones do: addresses, counters, lines of the program, steps,
// idle threads. The same numbers give the same job.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>

#include "snapshot/capture.h"
#include "tests/support/hung_jobs.h"

namespace oddrank::bench {

inline constexpr std::int32_t kTensorRanks = 8;  // also ranks a node
inline constexpr std::int32_t kReplicaRanks = kTensorRanks * 16;

class ScaleJob {
 public:
  ScaleJob(std::int32_t ranks, int threads)
      : ranks_(ranks),
        threads_(threads),
        odd_(ranks / 3),
        random_(static_cast<std::uint64_t>(ranks)) {}

  std::int32_t nodes() const { return ranks_ / kTensorRanks; }

  snapshot::Capture node(std::int32_t node);

 private:
  static std::string host_of(std::int32_t node);

  std::uint64_t any(std::uint64_t below) { return random_() % below; }

  // Returns the rank's main thread: the odd rank waits for its loader, its tensor group for it, its
  // pipeline for that group, and the other replicas for their gradients.
  tests::ThreadSpec main_thread(std::int32_t rank);
  static tests::CallSpec call(std::string_view op,
                              std::string_view group,
                              std::int32_t first,
                              std::int32_t stride,
                              std::int32_t count);
  tests::ThreadSpec idle_thread(int number);
  void add_locals(tests::CaptureBuilder& builder,
                  snapshot::ThreadCapture& thread,
                  std::int32_t rank);
  void add_rank(tests::CaptureBuilder& builder, const std::string& host, std::int32_t rank);

  std::int32_t ranks_;
  int threads_;
  std::int32_t odd_;
  std::mt19937_64 random_;
};

}  // namespace oddrank::bench
