// The kernel's letter for the state of a thread or process (proc(5)), in words.
#pragma once

#include <string_view>

namespace oddrank::report {

// Returns "sleeping uninterruptibly" for 'D'.
constexpr std::string_view state_words(char state) {
  switch (state) {
    case 'R':
      return "running";
    case 'S':
      return "sleeping";
    case 'D':
      return "sleeping uninterruptibly";
    case 'T':
      return "stopped";
    case 't':
      return "stopped by its tracer";
    case 'Z':
      return "ended (zombie)";
    case 'X':
      return "gone";
    case 'I':
      return "idle";
    default:
      return "in an unknown state";
  }
}

}  // namespace oddrank::report
