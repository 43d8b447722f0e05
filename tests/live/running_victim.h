// A victim with threads that run (tests/victims/running.cc), and the checks that tests make of its
// health.
#pragma once

#include <sys/types.h>

#include <string>

#include "attach/target.h"
#include "base/result.h"
#include "tests/support/victim.h"

namespace oddrank::test {

struct RunningVictim {
  Victim victim;
  attach::Addr counter{};  // counts the work of its threads, 64 bits
  pid_t tid = 0;           // of a thread that runs
};

// Starts `running MODE` and waits until each of its threads says that it runs.
Result<RunningVictim> start_running(const std::string& mode);

// Returns success if the process goes on: its counter moves within the usual deadline of a test.
Status goes_on(const RunningVictim& running);

// Returns "" if each thread of the process is in one of `states`, and no process traces it; else
// what is wrong. Tries again for a while: a released thread runs for a moment before it sleeps
// again.
std::string harm_of(pid_t pid, const std::string& states);

}  // namespace oddrank::test
