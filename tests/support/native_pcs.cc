// Prints the native stacks of processes as bare addresses, for a comparison with another unwinder:
//   native_pcs PID...   ->   "PID TID STATE END PC PC ..." a thread, innermost first, hexadecimal
// END is snapshot::StackEnd as a number. Reads without stopping, so a thread that runs has no PCs.
#include <charconv>
#include <cstdio>
#include <cstring>

#include "attach/live_target.h"
#include "stacks/module_map.h"
#include "stacks/native_unwind.h"

namespace {

using oddrank::attach::LiveTarget;

int print_process(pid_t pid) {
  const auto target = LiveTarget::open(pid);
  if (!target) {
    std::fprintf(stderr, "%s\n", target.error().what.c_str());
    return 1;
  }
  oddrank::stacks::ModuleMap modules(**target);
  oddrank::stacks::NativeUnwinder unwinder(**target, modules);
  const auto threads = (*target)->threads();
  if (!threads) {
    std::fprintf(stderr, "%s\n", threads.error().what.c_str());
    return 1;
  }
  for (const auto& thread : *threads) {
    const auto stack = unwinder.unwind(thread, 1U << 20);
    std::printf("%d %d %c %d", pid, thread.tid, thread.state, static_cast<int>(stack.end));
    for (const auto& frame : stack.frames) {
      std::printf(" %llx", static_cast<unsigned long long>(frame.pc));
    }
    std::printf("\n");
  }
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  int failures = 0;
  for (int i = 1; i < count; ++i) {
    pid_t pid = 0;
    const char* const end = arguments[i] + std::strlen(arguments[i]);
    if (std::from_chars(arguments[i], end, pid).ptr != end || pid <= 0) {
      std::fprintf(stderr, "%s is not a pid\n", arguments[i]);
      return 2;
    }
    failures += print_process(pid);
  }
  return failures == 0 ? 0 : 1;
}
