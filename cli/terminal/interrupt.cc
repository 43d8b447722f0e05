#include "cli/terminal/interrupt.h"

#include <unistd.h>

#include <csignal>

namespace oddrank::cli {
namespace {

std::atomic<bool> interrupted{false};

void on_interrupt(int /*signal*/) {
  if (interrupted.exchange(true)) {
    ::_exit(128 + SIGINT);
  }
}

}  // namespace

const std::atomic<bool>* catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = on_interrupt;  // without SA_RESTART: waits end at once
  ::sigaction(SIGINT, &action, nullptr);
  return &interrupted;
}

}  // namespace oddrank::cli
