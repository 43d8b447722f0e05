// Launchers that wait for launchers of other nodes: torchrun's agents, which start their ranks when
// all nodes have come to the rendezvous. They are rows without a rank.
//
// Source: torch/distributed/elastic, torch 1.9 to 2.13: `SimpleElasticAgent._rendezvous` is the
// wait; the locals of its callees have the numbers of nodes (cpython/telling_types.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "aggregate/view/job_view.h"

namespace oddrank::aggregate {

// -1 and "": unknown.
struct LauncherPlace {
  bool waits = false;       // in the rendezvous
  std::int32_t node = -1;   // its number, if the user has numbered the nodes
  std::int32_t nodes = -1;  // that must come
  std::int32_t come = -1;   // those that have come, itself included
  std::string meets_at;     // "n0:29500" or "rendezvous 'x'"
};

// Returns nullopt for what is not such a launcher.
std::optional<LauncherPlace> launcher_place(const JobView& view, const RankView& rank);

// Returns whether any launcher waits for other nodes. Its polling is no progress.
bool has_waiting_launcher(const JobView& view);

}  // namespace oddrank::aggregate
