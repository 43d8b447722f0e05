// Measures what it costs to find the waits of all threads of a process: `waits_cost PID [ROUNDS]`
// reads its stacks, then times oddrank's work for the waits, and prints the microseconds of each
// step in each round: in the reader of the process, and over the node (ends of pipes, sockets,
// files; names).
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "attach/live_target.h"
#include "snapshot/capture.h"
#include "stacks/collect.h"
#include "waits/ends/join_ends.h"
#include "waits/ends/read_ends.h"
#include "waits/node/collect_waits.h"
#include "waits/node/join_processes.h"

namespace {

using Clock = std::chrono::steady_clock;

long long us_since(Clock::time_point start) {
  return std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - start).count();
}

int complain(const oddrank::Error& error) {
  std::fprintf(stderr, "%s\n", error.what.c_str());
  return EXIT_FAILURE;
}

int measure(pid_t pid) {
  auto target = oddrank::attach::LiveTarget::open(pid);
  if (!target) {
    return complain(target.error());
  }
  oddrank::snapshot::Capture capture;
  capture.nodes.emplace_back();
  auto& process = capture.processes.emplace_back();
  process.pid = pid;
  process.owner = pid;
  process.is_rank = true;
  auto read = oddrank::stacks::collect_stacks(**target, {}, capture.tables, process);
  if (!read) {
    return complain(read.error());
  }
  const auto begun = Clock::now();
  oddrank::waits::collect_waits(**target, read->threads, read->python, capture.tables, process);
  const long long of_process = us_since(begun);
  const auto joined = Clock::now();
  oddrank::waits::join_ends(oddrank::waits::read_ends(capture), capture);
  oddrank::waits::join_processes(capture);
  std::printf("%zu %lld %lld\n", read->threads.size(), of_process, us_since(joined));
  return EXIT_SUCCESS;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) {
    std::fprintf(stderr, "usage: waits_cost PID [ROUNDS]\n");
    return 2;
  }
  const long rounds = count > 2 ? std::strtol(arguments[2], nullptr, 10) : 1;
  for (long round = 0; round < rounds; ++round) {
    const int status = measure(static_cast<pid_t>(std::strtol(arguments[1], nullptr, 10)));
    if (status != EXIT_SUCCESS) {
      return status;
    }
  }
  return EXIT_SUCCESS;
}
