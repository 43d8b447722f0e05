// Measures what it costs to find the waits of all threads of processes: `waits_cost ROUNDS PID...`
// reads their stacks, then times oddrank's work for the waits, and prints the threads and the
// microseconds of each step in each round: in the readers of the processes, and over the node (ends
// of pipes, sockets, files; names).
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

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

int measure(const std::vector<pid_t>& pids) {
  oddrank::snapshot::Capture capture;
  capture.nodes.emplace_back();
  std::size_t threads = 0;
  long long of_processes = 0;
  for (const pid_t pid : pids) {
    auto target = oddrank::attach::LiveTarget::open(pid);
    if (!target) {
      return complain(target.error());
    }
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
    of_processes += us_since(begun);
    threads += read->threads.size();
  }
  const auto joined = Clock::now();
  oddrank::waits::join_ends(oddrank::waits::read_ends(capture), capture);
  oddrank::waits::join_processes(capture);
  std::printf("%zu %lld %lld\n", threads, of_processes, us_since(joined));
  return EXIT_SUCCESS;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 3) {
    std::fprintf(stderr, "usage: waits_cost ROUNDS PID...\n");
    return 2;
  }
  std::vector<pid_t> pids;
  for (int at = 2; at < count; ++at) {
    pids.push_back(static_cast<pid_t>(std::strtol(arguments[at], nullptr, 10)));
  }
  const long rounds = std::strtol(arguments[1], nullptr, 10);
  for (long round = 0; round < rounds; ++round) {
    if (const int status = measure(pids); status != EXIT_SUCCESS) {
      return status;
    }
  }
  return EXIT_SUCCESS;
}
