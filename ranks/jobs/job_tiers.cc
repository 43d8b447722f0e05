#include "ranks/jobs/job_tiers.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "snapshot/jobs/jobs.h"

namespace oddrank::ranks {
namespace {

using snapshot::JobTier;

constexpr std::size_t kMaxActivities = 64;  // read of one job; they are alike
constexpr std::size_t kMaxNames = 3;        // of programs of one job that a note names

JobTier tier_of(const TreeNode& node) {
  const ProcessFacts& facts = *node.facts;
  const bool by_launcher = node.identity->source <= RankSource::kRankVariable;
  if (by_launcher || facts.reported.has_rank() || facts.loaded || facts.activity.communicates) {
    return JobTier::kTraining;
  }
  return is_python(facts.arguments) ? JobTier::kPython : JobTier::kPrograms;
}

std::map<std::string, JobTier> tiers_of(const ProcessTree& tree,
                                        const std::vector<std::size_t>& candidates) {
  std::map<std::string, JobTier> tiers;
  for (const std::size_t i : candidates) {
    JobTier& tier = tiers[tree[i].identity->job];
    tier = std::max(tier, tier_of(tree[i]));
  }
  return tiers;
}

JobTier best_tier(const std::map<std::string, JobTier>& tiers) {
  JobTier best = JobTier::kPrograms;
  for (const auto& [job, tier] : tiers) {
    best = std::max(best, tier);
  }
  return best;
}

// Drops debugging shells with whatever runs in them, unless there is nothing else.
void drop_single_tasks(const ProcessTree& tree, std::vector<std::size_t>& candidates) {
  const auto is_single = [&tree](std::size_t i) {
    const RankIdentity& identity = *tree[i].identity;
    return identity.source != RankSource::kRankVariable && identity.world_size <= 1;
  };
  if (!std::all_of(candidates.begin(), candidates.end(), is_single)) {
    std::erase_if(candidates, is_single);
  }
}

}  // namespace

std::vector<std::size_t> conducts_of_jobs(const ProcessTree& tree,
                                          const DiscoverOptions& options,
                                          const std::vector<std::size_t>& candidates) {
  const auto tiers = tiers_of(tree, candidates);
  std::vector<std::size_t> wanted;
  if (tiers.size() < 2 && !options.training_only) {
    return wanted;
  }
  std::map<std::string, std::size_t> read;
  for (const std::size_t i : candidates) {
    const std::string& job = tree[i].identity->job;
    const char state = tree[i].facts->stat.state;  // reading one in D may never return
    if (tiers.at(job) == JobTier::kTraining || (state != 'S' && state != 'R') ||
        ++read[job] > kMaxActivities || tree[i].facts->activity_read) {
      continue;
    }
    wanted.push_back(i);
  }
  return wanted;
}

std::vector<std::size_t> drop_side_jobs(const ProcessTree& tree,
                                        const DiscoverOptions& options,
                                        std::vector<std::size_t>& candidates) {
  std::vector<std::size_t> dropped;
  if (!options.slurm_job.empty() && best_tier(tiers_of(tree, candidates)) != JobTier::kTraining) {
    drop_single_tasks(tree, candidates);
  }
  const auto tiers = tiers_of(tree, candidates);
  const JobTier least = options.training_only ? JobTier::kPython : JobTier::kPrograms;
  const JobTier best = std::max(best_tier(tiers), least);
  std::erase_if(candidates, [&](std::size_t i) {
    const bool side = tiers.at(tree[i].identity->job) < best;
    if (side) {
      dropped.push_back(i);
    }
    return side;
  });
  return dropped;
}

std::vector<std::string> side_job_words(const ProcessTree& tree,
                                        const std::vector<std::size_t>& processes) {
  std::map<std::string, std::set<std::string>> names;
  std::map<std::string, std::size_t> counts;
  for (const std::size_t i : processes) {
    const std::string& job = tree[i].identity->job;
    ++counts[job];
    if (names[job].size() < kMaxNames) {
      names[job].insert(tree[i].facts->stat.name);
    }
  }
  std::vector<std::string> words;
  for (const auto& [job, count] : counts) {
    std::string text =
        job + " (" + std::to_string(count) + (count == 1 ? " process:" : " processes:");
    for (const std::string& name : names[job]) {
      text += " " + name;
    }
    words.push_back(text + ")");
  }
  return words;
}

}  // namespace oddrank::ranks
