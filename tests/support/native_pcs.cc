// Prints the native stacks of processes as bare addresses, to compare them with another unwinder:
//   native_pcs [--stop] PID...   ->   "PID TID STATE END PC PC ..." a thread, innermost first,
// hexadecimal. END is snapshot::StackEnd as a number. A running thread has no PCs unless it may be
// stopped for them.
#include <charconv>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "attach/live_target.h"
#include "stacks/reading.h"

namespace {

using oddrank::attach::LiveTarget;

int print_process(pid_t pid, bool stop) {
  const auto target = LiveTarget::open(pid);
  if (!target) {
    std::fprintf(stderr, "%s\n", target.error().what.c_str());
    return 1;
  }
  oddrank::stacks::CollectOptions options;
  options.python = false;
  options.stop = stop;
  options.frame_limit = std::size_t{1} << 20U;
  const auto readings = oddrank::stacks::ProcessReader(**target, options).read();
  if (!readings) {
    std::fprintf(stderr, "%s\n", readings.error().what.c_str());
    return 1;
  }
  for (const auto& reading : *readings) {
    std::printf("%d %d %c %d", pid, reading.state.tid, reading.state.state,
                static_cast<int>(reading.native.end));
    for (const auto& frame : reading.native.frames) {
      std::printf(" %llx", static_cast<unsigned long long>(frame.pc));
    }
    std::printf("\n");
  }
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  const bool stop = count > 1 && std::string_view(arguments[1]) == "--stop";
  int failures = 0;
  for (int i = stop ? 2 : 1; i < count; ++i) {
    pid_t pid = 0;
    const char* const end = arguments[i] + std::strlen(arguments[i]);
    if (std::from_chars(arguments[i], end, pid).ptr != end || pid <= 0) {
      std::fprintf(stderr, "%s is not a pid\n", arguments[i]);
      return 2;
    }
    failures += print_process(pid, stop);
  }
  return failures == 0 ? 0 : 1;
}
