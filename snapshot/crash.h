// How a signal ended a process, as its core file tells.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "snapshot/ids.h"

namespace oddrank::snapshot {

struct Crash {
  std::int32_t signal = 0;    // 0: the process is alive, or no signal ended it
  std::int32_t code = 0;      // si_code: why (sigaction(2))
  std::uint64_t address = 0;  // that could not be accessed or executed
  pid_t tid = 0;              // the thread that took the signal
  pid_t sender = 0;           // the process that sent it; 0 = the kernel, or unknown
  // What the C library said before it called abort(): a failed assertion, a damaged heap. Or which
  // C++ exception was not caught.
  StringId message{};

  // Returns whether the process caused the signal itself, by a fault or abort(). False: it was
  // ended.
  bool is_own(pid_t pid) const { return signal != 0 && (sender == 0 ? code > 0 : sender == pid); }

  bool operator==(const Crash&) const = default;
};

}  // namespace oddrank::snapshot
