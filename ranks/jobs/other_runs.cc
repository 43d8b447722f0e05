#include "ranks/jobs/other_runs.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>

#include "ranks/jobs/job_split.h"
#include "ranks/jobs/rank_claims.h"

namespace oddrank::ranks {
namespace {

// Processes that one other process has started; if that is not known, a single one.
struct Unit {
  std::uint64_t start_us = 0;  // of the first one
  std::vector<std::size_t> members;
};

using Run = std::span<const Unit>;

std::size_t ranks_in(const ProcessTree& tree, const RankClaims& claims, Run run) {
  std::set<std::int32_t> ranks;
  for (const Unit& unit : run) {
    for (const std::size_t i : unit.members) {
      if (claims.is_rank(i)) {
        ranks.insert(tree[i].identity->rank);
      }
    }
  }
  return ranks.size();
}

bool has_rank_twice(const ProcessTree& tree, const RankClaims& claims, Run run) {
  std::size_t all = 0;
  for (const Unit& unit : run) {
    all += static_cast<std::size_t>(
        std::count_if(unit.members.begin(), unit.members.end(),
                      [&claims](std::size_t i) { return claims.is_rank(i); }));
  }
  return all > ranks_in(tree, claims, run);
}

// Returns the units of one job, the oldest first. A starter whose processes include a rank twice
// has started several runs, or did not start them as one.
std::vector<Unit> units_of(const ProcessTree& tree,
                           const RankClaims& claims,
                           const std::vector<std::size_t>& job) {
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
    if (has_rank_twice(tree, claims, Run(&unit, 1))) {
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

// Returns, for each unit, the first unit of the longest run that ends with it and has no rank
// twice.
std::vector<std::size_t> first_units(const ProcessTree& tree, const RankClaims& claims, Run all) {
  std::vector<std::size_t> firsts;
  std::map<std::int32_t, std::size_t> last;  // rank -> the last unit with it
  std::size_t first = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (const std::size_t member : all[i].members) {
      if (!claims.is_rank(member)) {
        continue;
      }
      const auto [at, is_new] = last.emplace(tree[member].identity->rank, i);
      if (!is_new && at->second != i) {
        first = std::max(first, at->second + 1);
      }
      at->second = i;
    }
    firsts.push_back(first);
  }
  return firsts;
}

// Cuts into as few runs as have no rank twice, where the most time passed between two starts.
std::vector<Run> cut(const ProcessTree& tree, const RankClaims& claims, Run all) {
  struct Way {
    std::size_t runs = 0;
    std::uint64_t gaps_us = 0;  // between its runs
    std::size_t first = 0;      // unit of its last run
  };
  const std::vector<std::size_t> firsts = first_units(tree, claims, all);
  std::vector<Way> ways(all.size() + 1);  // [n]: the best way for the first n units
  for (std::size_t end = 1; end <= all.size(); ++end) {
    Way& best = ways[end];
    for (std::size_t first = firsts[end - 1]; first < end; ++first) {
      const std::uint64_t gap = first == 0 ? 0 : all[first].start_us - all[first - 1].start_us;
      const Way way{ways[first].runs + 1, ways[first].gaps_us + gap, first};
      const bool better = best.runs == 0 || way.runs < best.runs ||
                          (way.runs == best.runs && way.gaps_us > best.gaps_us);
      best = better ? way : best;
    }
  }
  std::vector<Run> runs;
  for (std::size_t end = all.size(); end > 0; end = ways[end].first) {
    runs.push_back(all.subspan(ways[end].first, end - ways[end].first));
  }
  std::reverse(runs.begin(), runs.end());
  return runs;
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
bool is_complete(const ProcessTree& tree, const RankClaims& claims, Run run) {
  const std::int32_t world = tree[run.front().members.front()].identity->world_size;
  return world > 0 && ranks_in(tree, claims, run) == static_cast<std::size_t>(world);
}

// What the other runs' candidates are called, and which of them do not count.
struct Others {
  std::map<std::size_t, std::string> suffix;  // of the job's name, by index
  std::set<std::size_t> dropped;
};

void name_run(const ProcessTree& tree, const RankClaims& claims, Run run, Others& others) {
  const bool complete = is_complete(tree, claims, run);
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
                 const RankClaims& claims,
                 const DiscoverOptions& options,
                 const std::vector<std::size_t>& job,
                 Others& others) {
  const std::vector<Unit> units = units_of(tree, claims, job);
  if (!has_rank_twice(tree, claims, units)) {
    return;
  }
  const std::vector<Run> runs = cut(tree, claims, units);
  const auto worth = [&](Run run) {
    return std::tuple(given_members(tree, options, run), ranks_in(tree, claims, run),
                      run.front().start_us);
  };
  const auto kept = std::max_element(runs.begin(), runs.end(),
                                     [&worth](Run a, Run b) { return worth(a) < worth(b); });
  for (auto run = runs.begin(); run != runs.end(); ++run) {
    if (run != kept) {
      name_run(tree, claims, *run, others);
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
  const RankClaims claims(tree, candidates);
  Others others;
  for (const auto& [name, job] : jobs) {
    find_others(tree, claims, options, job, others);
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
