// Ctrl-C while nodes are asked: the first asks for the report of what is there; the second ends us,
// and with us, by their death signals, all that we started.
#pragma once

#include <atomic>

namespace oddrank::cli {

// Takes over SIGINT for the rest of the process. What it returns is set by the first.
const std::atomic<bool>* catch_interrupts();

}  // namespace oddrank::cli
