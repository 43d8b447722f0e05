// What the values of a capture file may be. Private to snapshot/.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "snapshot/capture.h"

namespace oddrank::snapshot {

// The highest value of each enumeration that a capture stores. A newer file may have a higher one;
// then the field has its default, so that no code after the decoder has to check.
constexpr FrameKind last_value(FrameKind /*type*/) {
  return FrameKind::kPython;
}
constexpr StackEnd last_value(StackEnd /*type*/) {
  return StackEnd::kRunningTorn;
}
constexpr MergeState last_value(MergeState /*type*/) {
  return MergeState::kMismatch;
}
constexpr WaitOn last_value(WaitOn /*type*/) {
  return WaitOn::kNothing;
}
constexpr WaitHow last_value(WaitHow /*type*/) {
  return WaitHow::kFutureOfLoop;
}
constexpr JobRole last_value(JobRole /*type*/) {
  return JobRole::kService;
}

constexpr Ending last_value(Ending /*type*/) {
  return Ending::kFinalized;
}
constexpr WaitAbout last_value(WaitAbout /*type*/) {
  return WaitAbout::kPool;
}
constexpr LockKind last_value(LockKind /*type*/) {
  return LockKind::kOnce;
}
constexpr LockOwner last_value(LockOwner /*type*/) {
  return LockOwner::kNobodyElse;
}
constexpr LockMode last_value(LockMode /*type*/) {
  return LockMode::kWrite;
}
constexpr InnerLock last_value(InnerLock /*type*/) {
  return InnerLock::kTimeZone;
}
constexpr Store last_value(Store /*type*/) {
  return Store::kOther;
}
constexpr TransferTrouble last_value(TransferTrouble /*type*/) {
  return TransferTrouble::kNotTaken;
}
constexpr Known last_value(Known /*type*/) {
  return Known::kYes;
}
constexpr CallKind last_value(CallKind /*type*/) {
  return CallKind::kRendezvous;
}
constexpr ReadState last_value(ReadState /*type*/) {
  return ReadState::kFull;
}
constexpr TaskState last_value(TaskState /*type*/) {
  return TaskState::kLeftBehind;
}
constexpr FlightState last_value(FlightState /*type*/) {
  return FlightState::kCompleted;
}
constexpr RasPresence last_value(RasPresence /*type*/) {
  return RasPresence::kMemory;
}
constexpr LogKind last_value(LogKind /*type*/) {
  return LogKind::kTaskStatus;
}
constexpr JobSource last_value(JobSource /*type*/) {
  return JobSource::kReport;
}

// Returns whether the number is a letter of /proc/PID/stat (fs/proc/array.c of Linux 2.6 to 6.18),
// or '?', which stands for an unknown state.
constexpr bool is_thread_state(std::int64_t stored) {
  constexpr std::string_view kLetters = "?RSDTtZXxKWPI";
  return std::any_of(kLetters.begin(), kLetters.end(), [stored](char it) { return it == stored; });
}

}  // namespace oddrank::snapshot
