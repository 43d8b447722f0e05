// Measures what it costs to read a process's NCCL proxies: `nccl_cost PID ROUNDS` prints, for each
// round, the rows and the microseconds. (The bytes are in the unit test of nccl_proxies.h.)
#include <chrono>
#include <cstdio>

#include "attach/live_target.h"
#include "base/parse_number.h"
#include "collectives/nccl/nccl_proxies.h"
#include "node/collect/read_communicators.h"
#include "snapshot/tables.h"

int main(int count, char** words) {
  using namespace oddrank;  // NOLINT(google-build-using-namespace)
  using Clock = std::chrono::steady_clock;
  const auto pid = count == 3 ? parse_number<pid_t>(words[1]) : std::nullopt;
  const auto rounds = count == 3 ? parse_number<int>(words[2]) : std::nullopt;
  if (!pid || !rounds) {
    std::fputs("nccl_cost PID ROUNDS\n", stderr);
    return 2;
  }
  const auto target = attach::LiveTarget::open(*pid);
  if (!target) {
    std::fprintf(stderr, "%s\n", target.error().what.c_str());
    return 1;
  }
  const auto variables = node::find_nccl_variables(**target);
  if (!variables) {
    std::fprintf(stderr, "%s\n", variables.error().what.c_str());
    return 1;
  }
  for (int round = 0; round < *rounds; ++round) {
    snapshot::Tables tables;
    const auto begun = Clock::now();
    const auto rows = collectives::read_nccl_proxies(**target, *variables, tables);
    const auto us = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - begun);
    std::printf("%zu %lld\n", rows ? rows->transfers.size() + rows->heads.size() : 0,
                static_cast<long long>(us.count()));
  }
  return 0;
}
