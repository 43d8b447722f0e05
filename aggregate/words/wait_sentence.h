// The sentence of a wait: what is known of it, in English. The one place where a wait's facts
// become words; no code reads facts from the words.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "snapshot/capture.h"

namespace oddrank::aggregate {

// Finds a process of a node; null if it was not captured.
using FindProcess = std::function<const snapshot::ProcessCapture*(std::uint32_t node, pid_t pid)>;

// Returns "mutex locked by thread 71, with a time limit; in malloc(): the allocator's lock"; "" if
// nothing is known. The target's texts are not made printable (base/printable.h). `what`: the
// beginning; empty: chosen by the wait itself. `thread` belongs to `process`.
std::string wait_sentence(std::string_view what,
                          const snapshot::Tables& tables,
                          const FindProcess& find,
                          const snapshot::ProcessCapture& process,
                          const snapshot::ThreadCapture& thread);

// Returns whether a clock ends the wait, but later than a step of a loop would end.
inline bool is_long_limit(const snapshot::Wait& wait) {
  constexpr std::int64_t kLongMs = 10'000;
  return wait.limit_ms >= kLongMs;
}

// Returns ", for 58 min more at most", or "".
std::string long_limit_words(const snapshot::Wait& wait);

// Returns "exit code 3", "killed by signal 9", or "" if unknown, from field 52 of /proc/PID/stat
// (wait status).
std::string exit_words(std::int32_t exit_code);

// Returns ", nothing received for 61 s"; "" if it is less than a second or unknown.
std::string received_words(const snapshot::AwaitedFile& file);
// Returns ", over TLS", or "".
std::string tls_words(const snapshot::AwaitedFile& file);

inline constexpr std::string_view kFrozenWords = "frozen by its cgroup";

}  // namespace oddrank::aggregate
