#include "cli/terminal/interrupt.h"

#include <unistd.h>

#include <csignal>

namespace oddrank::cli {
namespace {

std::atomic<bool> interrupted{false};
std::atomic<int> ending_signal{0};

void on_interrupt(int /*signal*/) {
  if (interrupted.exchange(true)) {
    ::_exit(128 + SIGINT);
  }
}

void on_ending_signal(int signal) {
  if (ending_signal.exchange(signal) != 0) {
    ::_exit(128 + signal);
  }
}

}  // namespace

const std::atomic<bool>* catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = on_interrupt;  // without SA_RESTART: waits end at once
  ::sigaction(SIGINT, &action, nullptr);
  return &interrupted;
}

const std::atomic<int>* catch_ending_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action {};
    if (::sigaction(signal, nullptr, &action) == 0 && action.sa_handler != SIG_IGN) {
      action = {};
      action.sa_handler = on_ending_signal;
      ::sigaction(signal, &action, nullptr);
    }
  }
  return &ending_signal;
}

void end_by_signal(int signal) {
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

}  // namespace oddrank::cli
