// Ctrl-C while nodes are captured: the first one requests a report on the answers so far; the
// second one ends oddrank, and its death signals end everything that it started.
#pragma once

#include <atomic>

namespace oddrank::cli {

// Takes over SIGINT for the rest of the process. Returns the flag that the first Ctrl-C sets.
const std::atomic<bool>* catch_interrupts();

}  // namespace oddrank::cli
