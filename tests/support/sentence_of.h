// The sentence of a thread's wait, of a capture of few processes.
#pragma once

#include <algorithm>
#include <string>

#include "aggregate/words/wait_sentence.h"

namespace oddrank::tests {

inline std::string sentence_of(const snapshot::Capture& capture,
                               const snapshot::ProcessCapture& process,
                               const snapshot::ThreadCapture& thread) {
  const aggregate::FindProcess find = [&capture](std::uint32_t node,
                                                 pid_t pid) -> const snapshot::ProcessCapture* {
    const auto at = std::ranges::find_if(
        capture.processes, [&](const auto& each) { return each.node == node && each.pid == pid; });
    return at == capture.processes.end() ? nullptr : &*at;
  };
  return aggregate::wait_sentence({}, capture.tables, find, process, thread);
}

}  // namespace oddrank::tests
