// The sentence of a wait: what is known of it, in English. The one place where a wait's facts
// become words; nobody reads facts out of them again.
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

// "mutex locked by thread 71, with a time limit; in malloc(): the allocator's lock". Holds texts of
// the target as they are (see printable.h). "" if nothing is known. `thread` is one of the process.
std::string wait_sentence(const snapshot::Tables& tables,
                          const FindProcess& find,
                          const snapshot::ProcessCapture& process,
                          const snapshot::ThreadCapture& thread);
// The same, in a capture of few processes.
std::string wait_sentence(const snapshot::Capture& capture,
                          const snapshot::ProcessCapture& process,
                          const snapshot::ThreadCapture& thread);

// The same, where `what` is known better than what the wait itself says it does.
std::string wait_sentence_with(std::string_view what,
                               const snapshot::Tables& tables,
                               const FindProcess& find,
                               const snapshot::ProcessCapture& process,
                               const snapshot::ThreadCapture& thread);

// ", nothing received for 61 s"; "" if it is less than a second, or not known.
std::string received_words(const snapshot::AwaitedFile& file);
// ", over TLS"; "" if it is not.
std::string tls_words(const snapshot::AwaitedFile& file);

inline constexpr std::string_view kFrozenWords = "frozen by its cgroup";

}  // namespace oddrank::aggregate
