// Decides whether the samples of a node's ranks distinguish a hung job from a slow one, or whether
// another sample is needed. Pure: works on the capture as read so far.
//
// Two samples are enough if the waits are old: five seconds is longer than the pause between two
// steps of most jobs. If the waits are young, if a rank runs, or if a rank was found stopped in one
// sample only, the node is sampled again, at growing intervals, until the waits are old or the
// ranks have moved twice. (One motion may be a job's last before it hangs.)
//
// A rank is judged by its main thread, and by each thread whose Python frames are inside a call of
// a communication library. Native frames have no names yet, so a native program is judged by its
// main thread alone.
//
// A thread that spins in the driver of a GPU or in NCCL has always run just now. Its wait is as old
// as the newest event of the rank's flight recorder, the start or end of a call: if nothing ended
// on the device since, the thread has waited since then. Limit: without a recorder, and for other
// waits that spin or poll, the age is unknown; such ranks are sampled up to the limits below.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "node/read_options.h"
#include "snapshot/capture.h"

namespace oddrank::node {

// From this age on, a wait is old.
inline constexpr std::chrono::milliseconds kOldWait{snapshot::kOldWaitMs};
// From the start of the first sample to the start of the last one; and from the capture's start to
// the answer, as far as that can be predicted (in_time()).
inline constexpr std::chrono::milliseconds kMaxSampling{10000};
inline constexpr std::size_t kMaxSamples = 5;

// Why a further sample is needed; the first that applies.
enum class SampleReason : std::uint8_t {
  kNone = 0,     // it is not
  kFirst,        // one sample shows no motion
  kStoppedOnce,  // a rank was stopped or traced in the last sample, and not in the one before
  kYoungWaits,
  kRuns,  // a rank runs, or wakes again and again at one place
};

struct NextSample {
  SampleReason reason = SampleReason::kNone;
  std::chrono::milliseconds after{0};  // the start of the last sample, if there is a reason
};

// How long ago each process of a capture made a call or noticed the end of one, by its recorder;
// negative if unknown. Empty: no recorder was read.
using EventAges = std::vector<std::chrono::milliseconds>;

// Returns what to do after the samples of `capture`. `begun`: when they began, measured from the
// first. Ranks that were not read in every sample do not count, nor do processes that are not
// ranks.
NextSample next_sample(const snapshot::Capture& capture,
                       std::span<const std::chrono::milliseconds> begun,
                       const EventAges& events = {});

// What a machine under load adds to the time of a capture.
struct SamplingTime {
  std::chrono::milliseconds before{0};      // from the capture's start to its first sample
  std::chrono::milliseconds last_begun{0};  // from the first sample to the last one
  std::chrono::milliseconds takes{0};       // a sample: as long as the last one took
};

// Moves the next sample, which is not the first, earlier if the answer would come more than
// kMaxSampling after the capture's start: what follows the last sample (names, other sources, the
// report) takes about as long as three samples. Drops it if that leaves too little time between the
// two. An answer in time is worth more than one more sample.
NextSample in_time(NextSample next, const SamplingTime& time);

// Returns whether a main thread or a Python thread of a rank spins in a GPU's driver or NCCL in
// every sample, so that `events` may make further samples needless. (NCCL's own threads may spin
// all the time.)
bool spins_in_library(const snapshot::Capture& capture);

// Returns how much longer a capture may take than `timeout` says, because its ranks are sampled
// until it is clear whether they move. A process that waits for a capture must allow for it.
std::chrono::milliseconds longest_sampling(const CaptureOptions& options);

// Returns "waits are young, sampling again (3)". `sample`: the number of the next one.
std::string again_words(SampleReason reason, std::size_t sample);

}  // namespace oddrank::node
