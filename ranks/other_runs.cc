#include "ranks/other_runs.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>

#include "ranks/job_split.h"

namespace oddrank::ranks {
namespace {

// Processes that one other process has started; if that is not known, a single one.
struct Unit {
  std::uint64_t start_us = 0;  // of the first one
  std::vector<std::size_t> members;
};

using Run = std::span<const Unit>;

// Returns whether the process itself says which rank it is. A world of one has no run to belong to:
// any program that initialises MPI without a launcher is rank 0 of 1.
bool is_proven(const ProcessTree& tree, std::size_t index) {
  const ToldWorld& told = tree[index].facts->told;
  return told.told() && told.world_size > 1;
}

std::size_t proven_ranks(const ProcessTree& tree, Run run) {
  std::set<std::int32_t> ranks;
  for (const Unit& unit : run) {
    for (const std::size_t i : unit.members) {
      if (is_proven(tree, i)) {
        ranks.insert(tree[i].identity->rank);
      }
    }
  }
  return ranks.size();
}

bool has_rank_twice(const ProcessTree& tree, Run run) {
  std::size_t proven = 0;
  for (const Unit& unit : run) {
    proven += static_cast<std::size_t>(
        std::count_if(unit.members.begin(), unit.members.end(),
                      [&tree](std::size_t i) { return is_proven(tree, i); }));
  }
  return proven > proven_ranks(tree, run);
}

// Returns the units of one job, the oldest first. A starter whose processes include a rank twice
// has started several runs, or did not start them as one.
std::vector<Unit> units_of(const ProcessTree& tree, const std::vector<std::size_t>& job) {
  std::map<std::size_t, Unit> by_starter;
  std::vector<Unit> units;
  const auto single = [&tree](std::size_t i) { return Unit{tree[i].facts->stat.start_us, {i}}; };
  for (const std::size_t i : job) {
    if (is_orphan(tree, i)) {
      units.push_back(single(i));
    } else {
      by_starter[tree[i].parent].members.push_back(i);
    }
  }
  for (auto& [starter, unit] : by_starter) {
    if (has_rank_twice(tree, Run(&unit, 1))) {
      std::transform(unit.members.begin(), unit.members.end(), std::back_inserter(units), single);
      continue;
    }
    const std::size_t first = *std::min_element(
        unit.members.begin(), unit.members.end(), [&tree](std::size_t a, std::size_t b) {
          return tree[a].facts->stat.start_us < tree[b].facts->stat.start_us;
        });
    unit.start_us = tree[first].facts->stat.start_us;
    units.push_back(std::move(unit));
  }
  std::sort(units.begin(), units.end(), [](const Unit& a, const Unit& b) {
    return std::tie(a.start_us, a.members) < std::tie(b.start_us, b.members);
  });
  return units;
}

// Cuts where the most time passed between two starts, until no part has a rank twice.
void cut(const ProcessTree& tree, Run all, std::vector<Run>& runs) {
  if (all.size() < 2 || !has_rank_twice(tree, all)) {
    runs.push_back(all);
    return;
  }
  std::size_t at = 1;
  for (std::size_t i = 2; i < all.size(); ++i) {
    if (all[i].start_us - all[i - 1].start_us > all[at].start_us - all[at - 1].start_us) {
      at = i;
    }
  }
  cut(tree, all.first(at), runs);
  cut(tree, all.subspan(at), runs);
}

std::ptrdiff_t given_members(const ProcessTree& tree, const DiscoverOptions& options, Run run) {
  std::ptrdiff_t given = 0;
  for (const Unit& unit : run) {
    given += std::count_if(unit.members.begin(), unit.members.end(), [&](std::size_t i) {
      return std::find(options.pids.begin(), options.pids.end(), tree[i].facts->stat.pid) !=
             options.pids.end();
    });
  }
  return given;
}

// Returns whether all ranks of the run's world are in it.
bool is_complete(const ProcessTree& tree, Run run) {
  const std::int32_t world = tree[run.front().members.front()].identity->world_size;
  return world > 0 && proven_ranks(tree, run) == static_cast<std::size_t>(world);
}

// What the other runs' candidates are called, and which of them do not count.
struct Others {
  std::map<std::size_t, std::string> suffix;  // of the job's name, by index
  std::set<std::size_t> dropped;
};

void name_run(const ProcessTree& tree, Run run, Others& others) {
  const bool complete = is_complete(tree, run);
  const std::size_t first = run.front().members.front();
  const std::string suffix =
      complete ? " from pid " + std::to_string(tree[first].facts->stat.pid) : " (another run)";
  for (const Unit& unit : run) {
    for (const std::size_t i : unit.members) {
      others.suffix.emplace(i, suffix);
      if (!complete) {
        others.dropped.insert(i);
      }
    }
  }
}

// Adds all runs of the job but the one that keeps its name.
void find_others(const ProcessTree& tree,
                 const DiscoverOptions& options,
                 const std::vector<std::size_t>& job,
                 Others& others) {
  const std::vector<Unit> units = units_of(tree, job);
  if (!has_rank_twice(tree, units)) {
    return;
  }
  std::vector<Run> runs;
  cut(tree, units, runs);
  const auto worth = [&](Run run) {
    return std::tuple(given_members(tree, options, run), proven_ranks(tree, run),
                      run.front().start_us);
  };
  const auto kept = std::max_element(runs.begin(), runs.end(),
                                     [&worth](Run a, Run b) { return worth(a) < worth(b); });
  for (auto run = runs.begin(); run != runs.end(); ++run) {
    if (run != kept) {
      name_run(tree, *run, others);
    }
  }
}

}  // namespace

std::vector<std::size_t> drop_other_runs(ProcessTree& tree,
                                         const DiscoverOptions& options,
                                         std::vector<std::size_t>& candidates) {
  std::map<std::string, std::vector<std::size_t>> jobs;
  for (const std::size_t i : candidates) {
    jobs[tree[i].identity->job].push_back(i);
  }
  Others others;
  for (const auto& [name, job] : jobs) {
    find_others(tree, options, job, others);
  }
  if (others.suffix.empty()) {
    return {};
  }
  const std::vector<std::size_t> heads = heads_of(tree, candidates);
  for (std::size_t i = 0; i < tree.size(); ++i) {
    const auto other = others.suffix.find(heads[i]);
    if (tree[i].identity && other != others.suffix.end()) {
      tree[i].identity->job += other->second;
    }
  }
  std::erase_if(candidates, [&others](std::size_t i) { return others.dropped.contains(i); });
  return {others.dropped.begin(), others.dropped.end()};
}

}  // namespace oddrank::ranks
