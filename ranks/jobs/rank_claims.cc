#include "ranks/jobs/rank_claims.h"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

namespace oddrank::ranks {
namespace {

// Returns what identifies the program: the executable, and the script, module or code that a Python
// interpreter runs.
std::string program_of(const ProcessFacts& facts) {
  const auto& arguments = facts.arguments;
  std::string program =
      facts.executable.empty() && !arguments.empty() ? arguments.front() : facts.executable;
  if (!is_python(arguments)) {
    return program;
  }
  const std::string_view script = script_of(arguments);
  program += '\n';
  program += script;
  for (std::size_t i = 1; script.empty() && i < std::min<std::size_t>(arguments.size(), 3); ++i) {
    program += '\n' + arguments[i];
  }
  return program;
}

bool communicates(const ProcessFacts& facts) {
  return facts.reported.has_rank() || facts.loaded || facts.activity.communicates;
}

// Any program that initialises MPI without a launcher is rank 0 of 1, whatever its variables say.
bool is_world_by_itself(const TreeNode& node) {
  const ReportedWorld& reported = node.facts->reported;
  return reported.by == ReportedBy::kMpi && reported.world_size <= 1 &&
         node.identity->source != RankSource::kMpi;
}

// Returns whether the orphan comes from the rank: it is in its session, or in the process group
// that it, or a launcher above it, leads.
bool comes_from(const ProcessTree& tree, std::size_t orphan, std::size_t rank) {
  const attach::ProcStat& stat = tree[orphan].facts->stat;
  const auto leads = [&](std::size_t at) { return tree[at].facts->stat.pid == stat.group; };
  return is_orphan(tree, orphan) && (stat.session == tree[rank].facts->stat.pid || leads(rank) ||
                                     tree.ancestor(rank, leads) != kNoProcess);
}

// Returns whether `candidate` is not a worker and runs the same program as the rank.
bool was_started_alike(const ProcessTree& tree, std::size_t candidate, std::size_t rank) {
  const ProcessFacts& facts = *tree[candidate].facts;
  return !comes_from(tree, candidate, rank) && !facts.stat.forked && !facts.reported.inherited &&
         !is_multiprocessing_child(facts.arguments) &&
         program_of(facts) == program_of(*tree[rank].facts) &&
         (communicates(facts) || !communicates(*tree[rank].facts));
}

}  // namespace

RankClaims::RankClaims(const ProcessTree& tree, const std::vector<std::size_t>& candidates)
    : tree_(tree) {
  for (const std::size_t i : candidates) {
    const RankIdentity& identity = *tree[i].identity;
    programs_[{identity.job, program_of(*tree[i].facts)}].insert(identity.rank);
  }
  for (const auto& [key, of_rank] : by_rank(tree, candidates)) {
    const std::size_t best = best_of(of_rank);
    for (const std::size_t i : of_rank) {
      const bool reported = tree[i].facts->reported.has_rank();
      if (i == best ||
          (reported ? !is_world_by_itself(tree[i]) : was_started_alike(tree, i, best))) {
        ranks_.insert(i);
      }
    }
  }
}

std::size_t RankClaims::siblings_of(std::size_t candidate) const {
  const RankIdentity& identity = *tree_[candidate].identity;
  const auto found = programs_.find({identity.job, program_of(*tree_[candidate].facts)});
  return found == programs_.end() ? 0 : found->second.size();
}

std::size_t RankClaims::best_of(const std::vector<std::size_t>& of_rank) const {
  if (of_rank.size() == 1) {
    return of_rank.front();
  }
  // How badly a process fits: the smallest value is the rank. An orphan may be a worker that
  // outlived its rank; a program that is not Python, or not the other ranks' program, may be a
  // monitor beside it.
  const auto misfit = [this](std::size_t i) {
    const ProcessFacts& facts = *tree_[i].facts;
    const bool orphan = is_orphan(tree_, i);
    const bool follows = facts.stat.group != facts.stat.pid;
    return std::tuple(facts.stat.name == "sleep", orphan, !is_python(facts.arguments),
                      !communicates(facts), -static_cast<std::ptrdiff_t>(siblings_of(i)),
                      orphan && follows, facts.stat.start_us, facts.stat.pid);
  };
  return *std::min_element(of_rank.begin(), of_rank.end(), [&misfit](std::size_t a, std::size_t b) {
    return misfit(a) < misfit(b);
  });
}

}  // namespace oddrank::ranks
