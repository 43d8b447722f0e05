// A victim with threads that run (tests/victims/running.cc), and the questions that tests ask about
// its health.
#pragma once

#include <sys/types.h>

#include <string>

#include "attach/target.h"
#include "base/result.h"
#include "tests/support/victim.h"

namespace oddrank::test {

struct RunningVictim {
  Victim victim;
  attach::Addr counter{};  // of what its threads have done, 64 bits
  pid_t tid = 0;           // of a thread that runs
};

// Starts `running MODE` and waits until each of its threads says that it runs.
Result<RunningVictim> start_running(const std::string& mode);

// Whether the process goes on: its counter moves, within the usual patience of a test.
Status goes_on(const RunningVictim& running);

// "" if each thread of the process is in one of `states`, and nobody traces it; else what is wrong.
// Looks again for a while: one that was let go runs for a moment before it sleeps again.
std::string harm_of(pid_t pid, const std::string& states);

}  // namespace oddrank::test
