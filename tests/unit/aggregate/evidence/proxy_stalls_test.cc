// Networks of made-up proxies and GPUs that are broken at some place, at some time: whatever is
// named must be that place.
#include "aggregate/evidence/proxy_stalls.h"

#include <algorithm>

#include "tests/support/catch.h"
#include "tests/support/emulated.h"
#include "tests/support/hung_jobs.h"
#include "tests/support/nccl_network.h"

namespace oddrank::aggregate {

using tests::NcclNetwork;
using tests::NetworkPlan;
using tests::Scheme;

namespace {

std::vector<ProxyStall> stalls_of(const NetworkPlan& plan, const NcclNetwork& network) {
  tests::CaptureBuilder job = tests::ranks_in_all_reduce(plan.hosts, plan.per_host);
  network.describe(job);
  FrameModel model(job.capture.tables);
  const JobView view(job.capture, model);
  return find_proxy_waits(view).stalls;
}

struct TriedStall {
  int hung = 0;
  int named = 0;
  int listed = 0;
};

NetworkPlan plan_of(Scheme scheme, std::uint32_t seed) {
  NetworkPlan plan;
  plan.scheme = scheme;
  plan.hosts = 2 + static_cast<int>(seed % 4);
  plan.per_host = scheme == Scheme::kSends ? 1 : 1 + static_cast<int>(seed / 4 % 3);
  plan.channels = 1 + static_cast<int>(seed / 12 % 2);
  plan.steps = 4 + static_cast<int>(seed / 24 % 5) * 7;
  plan.sockets = seed / 120 % 2 == 0;
  plan.pxn = plan.per_host > 1 && seed % 3 == 0;
  plan.low_latency = !plan.sockets && seed / 240 % 2 == 0;
  return plan;
}

// Breaks networks, and asks each time whether what is found is the place.
template <typename Break, typename IsPlace>
void break_all(const Break& break_it, const IsPlace& is_place, int least_named, int least_listed) {
  // An emulator takes twenty times as long.
  const std::uint32_t step = test::is_emulated() ? 11 : 1;
  for (const Scheme scheme : {Scheme::kRing, Scheme::kChain, Scheme::kTree, Scheme::kSends}) {
    TriedStall tried;
    for (std::uint32_t seed = 0; seed < 480; seed += step) {
      const NetworkPlan plan = plan_of(scheme, seed);
      NcclNetwork network(plan, seed);
      network.run(static_cast<int>(seed * 31 % 400));
      break_it(plan, seed, network);
      while (network.run(1000)) {
      }
      if (network.is_done()) {
        continue;
      }
      ++tried.hung;
      const std::vector<ProxyStall> stalls = stalls_of(plan, network);
      if (stalls.empty()) {
        continue;
      }
      CAPTURE(scheme, seed, plan.hosts, plan.per_host, plan.steps, plan.sockets, plan.low_latency);
      const auto right = [&](const ProxyStall& stall) {
        return is_place(plan, seed, network, stall);
      };
      if (stalls.front().sure) {
        ++tried.named;
        CHECK(std::all_of(stalls.begin(), stalls.end(), right));
      } else {
        ++tried.listed;
        CHECK(std::any_of(stalls.begin(), stalls.end(), right));
      }
    }
    CAPTURE(scheme, tried.hung, tried.named, tried.listed);
    if (step == 1) {  // else there are too few to tell
      CHECK(tried.named * 100 >= tried.hung * least_named);
      CHECK((tried.named + tried.listed) * 100 >= tried.hung * least_listed);
    }
  }
}

int cut_from(const NetworkPlan& plan, std::uint32_t seed) {
  return static_cast<int>(seed * 7 % static_cast<std::uint32_t>(plan.hosts));
}

int cut_to(const NetworkPlan& plan, std::uint32_t seed) {
  return (cut_from(plan, seed) + 1 + static_cast<int>(seed / 7) % (plan.hosts - 1)) % plan.hosts;
}

std::int32_t stopped_gpu(const NetworkPlan& plan, std::uint32_t seed) {
  return static_cast<std::int32_t>(seed * 7 % static_cast<std::uint32_t>(plan.ranks()));
}

}  // namespace

TEST_CASE("of NCCL's data, the link that does not carry is named") {
  const bool both_ways = GENERATE(false, true);
  break_all(
      [&](const NetworkPlan& plan, std::uint32_t seed, NcclNetwork& network) {
        network.cut(cut_from(plan, seed), cut_to(plan, seed));
        if (both_ways) {
          network.cut(cut_to(plan, seed), cut_from(plan, seed));
        }
      },
      [&](const NetworkPlan& plan, std::uint32_t seed, const NcclNetwork& network,
          const ProxyStall& stall) {
        const std::pair cut(cut_from(plan, seed), cut_to(plan, seed));
        const std::pair ends(network.host_of(static_cast<std::int32_t>(stall.ranks.front())),
                             network.host_of(static_cast<std::int32_t>(stall.ranks.back())));
        // What acknowledges or permits goes the other way.
        const bool back = both_ways || !plan.sockets;
        return stall.kind == ProxyStall::Kind::kLink &&
               (ends == cut || (back && ends == std::pair(cut.second, cut.first)));
      },
      60, 64);
}

TEST_CASE("of NCCL's data, the GPU that stands is named") {
  break_all(
      [](const NetworkPlan& plan, std::uint32_t seed, NcclNetwork& network) {
        network.stop_gpu(stopped_gpu(plan, seed));
      },
      [](const NetworkPlan& plan, std::uint32_t seed, const NcclNetwork&, const ProxyStall& stall) {
        const auto gpu = static_cast<std::size_t>(stopped_gpu(plan, seed));
        return stall.kind != ProxyStall::Kind::kLink &&
               std::find(stall.ranks.begin(), stall.ranks.end(), gpu) != stall.ranks.end();
      },
      25, 35);
}

TEST_CASE("of NCCL's data, a ring of a thousand hosts is followed to its link") {
  constexpr std::int32_t kHosts = 1'000;
  std::vector<std::string> hosts;
  for (int host = 0; host < kHosts; ++host) {
    hosts.push_back("n" + std::to_string(host));
  }
  const bool sockets = GENERATE(false, true);
  tests::CaptureBuilder job(hosts, kHosts);
  auto& tables = job.capture.tables;
  for (std::int32_t rank = 0; rank < kHosts; ++rank) {
    auto& process = job.rank(rank, hosts[static_cast<std::size_t>(rank)], tests::pid_of(rank));
    snapshot::ProxyTransfer row;
    row.group = tables.string("0x4f");
    row.network = tables.string(sockets ? "Socket" : "IB");
    row.size = kHosts;
    row.rank = rank;
    row.channels = row.still = 0xffff'ffff;
    row.end = 24;
    row.sends = true;
    row.peer = (rank + 1) % kHosts;
    // Rank 0 has given four steps, which do not arrive; the others have given one, and wait.
    row.passed = rank == 0 ? 4 : 1;
    row.done = rank == 0 ? 0 : 1;
    row.posted = row.done + 8;
    process.proxies.push_back(row);
    row.sends = false;
    row.peer = (rank + kHosts - 1) % kHosts;
    row.passed = row.done = rank == 1 ? 0 : 1;
    row.posted = row.done + 8;
    process.proxies.push_back(row);
  }
  FrameModel model(job.capture.tables);
  const JobView view(job.capture, model);
  const ProxyWaits found = find_proxy_waits(view);
  REQUIRE(found.stalls.size() == 1);
  CHECK(found.stalls.front().sure);
  CHECK(found.stalls.front().ranks == std::vector<std::size_t>{0, 1});
  CHECK(found.stalls.front().waiters.size() == kHosts);
  CHECK(found.stalls.front().channels == 32);
}

}  // namespace oddrank::aggregate
