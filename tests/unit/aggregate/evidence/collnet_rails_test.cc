// Made-up networks of CollNet that are broken at some place, at some time: whatever is named must
// be that place.
#include "aggregate/evidence/collnet_rails.h"

#include <algorithm>

#include "aggregate/evidence/proxy_stalls.h"
#include "tests/support/catch.h"
#include "tests/support/collnet_network.h"
#include "tests/support/emulated.h"
#include "tests/support/hung_jobs.h"

namespace oddrank::aggregate {

using tests::CollnetNetwork;
using tests::CollnetPlan;

namespace {

using StallKind = ProxyStall::Kind;

std::vector<ProxyStall> stalls_in_job(const tests::CaptureBuilder& job) {
  FrameModel model(job.capture.tables);
  const JobView view(job.capture, model);
  return find_proxy_waits(view).stalls;
}

CollnetPlan collnet_plan(std::uint32_t seed) {
  CollnetPlan plan;
  plan.hosts = 2 + static_cast<int>(seed % 4);
  plan.per_host = 1 + static_cast<int>(seed / 4 % 4);
  plan.rails = 1 + static_cast<int>(seed / 16 % static_cast<std::uint32_t>(plan.per_host));
  plan.channels = 1 + static_cast<int>(seed / 64 % 3);
  plan.steps = 4 + static_cast<int>(seed / 192 % 5) * 7;
  return plan;
}

int broken_host(const CollnetPlan& plan, std::uint32_t seed) {
  return static_cast<int>(seed * 7 % static_cast<std::uint32_t>(plan.hosts));
}

int broken_rail(const CollnetPlan& plan, std::uint32_t seed) {
  return static_cast<int>(seed * 11 % static_cast<std::uint32_t>(plan.rails));
}

// Breaks networks, and asks each time whether what is found is the place. At least so many of a
// hundred must be named.
template <typename Break, typename IsPlace>
void break_networks(const Break& break_it, const IsPlace& is_place, int least_named) {
  const std::uint32_t step = test::is_emulated() ? 11 : 1;
  int hung = 0;
  int named = 0;
  for (std::uint32_t seed = 0; seed < 960; seed += step) {
    const CollnetPlan plan = collnet_plan(seed);
    CollnetNetwork network(plan, seed);
    network.run(static_cast<int>(seed * 31 % 700));
    break_it(plan, seed, network);
    while (network.run(1000)) {
    }
    if (network.is_done()) {
      continue;
    }
    ++hung;
    tests::CaptureBuilder job = tests::ranks_in_all_reduce(plan.hosts, plan.per_host);
    network.describe(job);
    const std::vector<ProxyStall> stalls = stalls_in_job(job);
    CAPTURE(seed, plan.hosts, plan.per_host, plan.rails, plan.channels, plan.steps);
    const auto right = [&](const ProxyStall& stall) {
      return is_place(plan, seed, network, stall);
    };
    if (!stalls.empty() && stalls.front().sure) {
      ++named;
      CHECK(std::all_of(stalls.begin(), stalls.end(), right));
    } else if (!stalls.empty()) {
      CHECK(std::any_of(stalls.begin(), stalls.end(), right));
    }
  }
  CAPTURE(hung, named);
  if (step == 1) {
    CHECK(named * 100 >= hung * least_named);
  }
}

}  // namespace

TEST_CASE("of CollNet's data, the GPU that stands is named") {
  const auto stopped = [](const CollnetPlan& plan, std::uint32_t seed) {
    return static_cast<std::int32_t>(seed * 7 % static_cast<std::uint32_t>(plan.ranks()));
  };
  break_networks(
      [&](const CollnetPlan& plan, std::uint32_t seed, CollnetNetwork& network) {
        network.stop_gpu(stopped(plan, seed));
      },
      [&](const CollnetPlan& plan, std::uint32_t seed, const CollnetNetwork& network,
          const ProxyStall& stall) {
        const auto gpu = static_cast<std::size_t>(stopped(plan, seed));
        const bool one_host =
            std::all_of(stall.ranks.begin(), stall.ranks.end(), [&](std::size_t rank) {
              return network.host_of(static_cast<std::int32_t>(rank)) ==
                     network.host_of(static_cast<std::int32_t>(gpu));
            });
        return (stall.kind == StallKind::kDevice || stall.kind == StallKind::kSilent) && one_host &&
               std::find(stall.ranks.begin(), stall.ranks.end(), gpu) != stall.ranks.end();
      },
      80);
}

TEST_CASE("of CollNet's data, a host whose results do not come is not a GPU's fault") {
  break_networks(
      [](const CollnetPlan& plan, std::uint32_t seed, CollnetNetwork& network) {
        network.cut(broken_host(plan, seed), broken_rail(plan, seed));
      },
      [](const CollnetPlan& plan, std::uint32_t seed, const CollnetNetwork& network,
         const ProxyStall& stall) {
        const auto head = static_cast<std::size_t>(
            network.head_of(broken_host(plan, seed), broken_rail(plan, seed)));
        return stall.kind == StallKind::kNetwork && stall.ranks == std::vector{head};
      },
      80);
}

TEST_CASE("of CollNet's data, a network that computes nothing is named with all heads") {
  break_networks([](const CollnetPlan& plan, std::uint32_t seed,
                    CollnetNetwork& network) { network.stop_rail(broken_rail(plan, seed)); },
                 [](const CollnetPlan& plan, std::uint32_t seed, const CollnetNetwork& network,
                    const ProxyStall& stall) {
                   const bool heads =
                       std::all_of(stall.ranks.begin(), stall.ranks.end(), [&](std::size_t rank) {
                         const auto number = static_cast<std::int32_t>(rank);
                         return number ==
                                network.head_of(network.host_of(number), broken_rail(plan, seed));
                       });
                   return stall.kind == StallKind::kNetwork && heads;
                 },
                 80);
}

TEST_CASE("of CollNet's data, a network that takes nothing is named") {
  break_networks(
      [](const CollnetPlan& plan, std::uint32_t seed, CollnetNetwork& network) {
        network.refuse(broken_host(plan, seed), broken_rail(plan, seed));
      },
      [](const CollnetPlan& plan, std::uint32_t seed, const CollnetNetwork& network,
         const ProxyStall& stall) {
        const auto head = static_cast<std::size_t>(
            network.head_of(broken_host(plan, seed), broken_rail(plan, seed)));
        return stall.kind == StallKind::kNetwork && stall.ranks == std::vector{head};
      },
      60);
}

TEST_CASE("of CollNet's data, nothing is said if it moves, or if no head has given anything") {
  const CollnetPlan plan;
  CollnetNetwork network(plan, 3);
  tests::CaptureBuilder job = tests::ranks_in_all_reduce(plan.hosts, plan.per_host);
  SECTION("all stand at the start") {
    for (std::int32_t rank = 0; rank < plan.ranks(); ++rank) {
      network.stop_gpu(rank);
    }
    network.run(1000);
    network.describe(job);
  }
  SECTION("it moves") {
    network.stop_gpu(2);
    while (network.run(1000)) {
    }
    network.describe(job);
    REQUIRE_FALSE(stalls_in_job(job).empty());
    for (auto& process : job.capture.processes) {
      for (auto& row : process.heads) {
        row.still = 0;
      }
    }
  }
  SECTION("a head that was not read may be the one") {
    network.stop_rail(0);
    while (network.run(1000)) {
    }
    network.describe(job);
    REQUIRE_FALSE(stalls_in_job(job).empty());
    job.process(tests::pid_of(0)).heads.clear();
  }
  CHECK(stalls_in_job(job).empty());
}

TEST_CASE("of CollNet's data, heads that share a host are told apart") {
  CollnetPlan plan;
  plan.hosts = 4;
  plan.per_host = plan.rails = 1;
  CollnetNetwork network(plan, 3);
  network.stop_gpu(2);
  while (network.run(1000)) {
  }
  tests::CaptureBuilder job({"n0"}, plan.ranks());
  for (std::int32_t rank = 0; rank < plan.ranks(); ++rank) {
    job.thread(job.rank(rank, "n0", tests::pid_of(rank)), tests::in_all_reduce());
  }
  network.describe(job);
  const std::vector<ProxyStall> stalls = stalls_in_job(job);
  REQUIRE(stalls.size() == 1);
  CHECK(stalls.front().ranks == std::vector<std::size_t>{2});
  CHECK(stalls.front().waiters.size() == 4);
}

TEST_CASE("of CollNet's data, a thousand hosts of eight rails are followed") {
  CollnetPlan plan;
  plan.hosts = 1'000;
  plan.per_host = 8;
  plan.rails = 8;
  tests::CaptureBuilder job = tests::ranks_in_all_reduce(plan.hosts, plan.per_host);
  auto& tables = job.capture.tables;
  for (std::int32_t rank = 0; rank < plan.ranks(); ++rank) {
    snapshot::CollnetHead row;
    row.rail = tables.string("0x7c/" + std::to_string(rank % 8));
    row.group = tables.string("0x4f");
    row.size = plan.ranks();
    row.head = rank / 8;
    row.heads = plan.hosts;
    row.channels = row.still = 0xffff'ffff;
    // The GPU of rank 4003 has given nothing to its rail; so there is nothing to take.
    row.filled = row.given = rank == 4003 ? 0 : 8;
    row.returned = row.taken = rank % 8 == 4003 % 8 ? 0 : 8;
    row.offered = row.taken + 8;
    row.end = 24;
    job.process(tests::pid_of(rank)).heads.push_back(row);
  }
  const std::vector<ProxyStall> stalls = stalls_in_job(job);
  REQUIRE(stalls.size() == 1);
  CHECK(stalls.front().sure);
  CHECK(stalls.front().kind == StallKind::kSilent);
  CHECK(stalls.front().ranks.front() == 4000);  // one of its host
  CHECK(stalls.front().ranks.size() == 8);
}

}  // namespace oddrank::aggregate
