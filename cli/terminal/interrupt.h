// Ctrl-C while nodes are captured: the first one requests a report on the answers so far; the
// second one ends oddrank, and with it everything that it started (by death signals). Also catches
// the signals that end a command that has to clean up.
#pragma once

#include <atomic>

namespace oddrank::cli {

// Takes over SIGINT for the rest of the process. Returns the flag that the first Ctrl-C sets.
const std::atomic<bool>* catch_interrupts();

// Takes over SIGINT, SIGTERM and SIGHUP (unless they are ignored) for the rest of the process.
// Returns a pointer to the number of the first one that arrives, 0 before. The second one ends
// oddrank.
const std::atomic<int>* catch_ending_signals();

// Ends the process by this signal, as if it were not caught.
void end_by_signal(int signal);

}  // namespace oddrank::cli
