#include "ranks/rank_choice.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "ranks/jobs/job_split.h"
#include "ranks/jobs/job_tiers.h"
#include "ranks/jobs/other_runs.h"
#include "ranks/jobs/rank_claims.h"
#include "ranks/wrappers.h"

namespace oddrank::ranks {
namespace {

// Returns whether the process starts ranks under its own, smaller number: torchrun once a node
// under srun, orted, or a launcher that we do not know by name. Its number is not its children's.
bool starts_other_ranks(const TreeNode& launcher,
                        const std::set<std::int32_t>& ranks_below,
                        bool elastic_below) {
  if (!launcher.identity || launcher.role == ProcessRole::kRankLauncher) {
    return launcher.role == ProcessRole::kRankLauncher;
  }
  return ranks_below.size() > 1 || elastic_below ||
         (ranks_below.size() == 1 && *ranks_below.begin() != launcher.identity->rank);
}

// Returns [index] -> whether it starts ranks other than its own.
std::vector<char> find_rank_launchers(const ProcessTree& tree) {
  std::vector<std::set<std::int32_t>> below(tree.size());
  std::vector<char> elastic_below(tree.size(), 0);
  for (std::size_t i = 0; i < tree.size(); ++i) {
    if (!tree[i].identity || tree[i].identity->source == RankSource::kSlurm) {
      continue;
    }
    const RankIdentity& identity = *tree[i].identity;
    tree.ancestor(i, [&](std::size_t above) {
      const auto& other = tree[above].identity;
      if (other && other->source > identity.source) {
        below[above].insert(identity.rank);
        elastic_below[above] = static_cast<char>(elastic_below[above] != 0 || identity.elastic);
      }
      return false;
    });
  }
  std::vector<char> launchers(tree.size(), 0);
  for (std::size_t i = 0; i < tree.size(); ++i) {
    launchers[i] = static_cast<char>(starts_other_ranks(tree[i], below[i], elastic_below[i] != 0));
  }
  return launchers;
}

// All helpers of a rank launcher also carry the launcher's own number; this does not make them
// ranks.
void drop_inherited_numbers(ProcessTree& tree, const std::vector<char>& launchers) {
  std::vector<char> drop(tree.size(), 0);
  for (std::size_t i = 0; i < tree.size(); ++i) {
    if (!tree[i].identity) {
      continue;
    }
    const RankIdentity& own = *tree[i].identity;
    const std::size_t launcher = tree.ancestor(i, [&](std::size_t above) {
      const auto& other = tree[above].identity;
      return launchers[above] != 0 && other && other->source == own.source &&
             other->rank == own.rank;
    });
    drop[i] = static_cast<char>(launchers[i] != 0 || launcher != kNoProcess);
  }
  for (std::size_t i = 0; i < tree.size(); ++i) {
    if (drop[i] != 0) {
      tree[i].identity.reset();
    }
  }
}

// A process that only inherited its group from the process that forked it is no rank while that
// process lives.
void drop_inherited_groups(ProcessTree& tree) {
  for (std::size_t i = 0; i < tree.size(); ++i) {
    if (tree[i].facts->reported.inherited && !is_orphan(tree, i) && tree[i].identity &&
        tree[i].identity->source == RankSource::kItself) {
      tree[i].identity.reset();
    }
  }
}

// If no variable names the job, the processes that were started from one place belong together.
void name_jobs_by_launcher(ProcessTree& tree) {
  for (std::size_t i = 0; i < tree.size(); ++i) {
    if (!tree[i].identity || !tree[i].identity->job.empty()) {
      continue;
    }
    const std::size_t launcher =
        tree.ancestor(i, [&](std::size_t above) { return !tree[above].identity; });
    const pid_t pid = launcher == kNoProcess ? 1 : tree[launcher].facts->stat.pid;
    tree[i].identity->job = "launcher " + std::to_string(pid);
  }
}

bool is_excluded(const TreeNode& node, const DiscoverOptions& options) {
  return std::find(options.exclude.begin(), options.exclude.end(), node.facts->stat.pid) !=
         options.exclude.end();
}

bool names_job(const ProcessFacts& facts, const DiscoverOptions& options) {
  const attach::Environment& environment = facts.environment;
  return (options.slurm_job.empty() || environment.get("SLURM_JOB_ID") == options.slurm_job) &&
         (options.slurm_step.empty() || environment.get("SLURM_STEP_ID") == options.slurm_step);
}

bool may_be_rank(const TreeNode& node, const DiscoverOptions& options) {
  return node.identity && node.role == ProcessRole::kProgram && !is_excluded(node, options) &&
         matches(*node.facts, options);
}

bool same_rank(const RankIdentity& a, const RankIdentity& b) {
  return a.rank == b.rank && a.job == b.job && a.rendezvous == b.rendezvous;
}

// Returns whether two launchers of MPI have started the two, by the name spaces that these gave
// them, or by the launchers' processes. A job that a rank has started with mpirun has a rank with
// the number of that rank, too.
bool of_other_worlds(const RankIdentity& inner, const RankIdentity& outer) {
  const auto named = [&](std::string_view word) {
    return inner.job.starts_with(word) && outer.job.starts_with(word);
  };
  const bool of_mpi = inner.source == RankSource::kMpi && outer.source == RankSource::kMpi;
  return inner.job != outer.job && (named("mpi ") || (of_mpi && named("launcher ")));
}

// Returns whether the inner process belongs to this outer candidate: the process of the same rank,
// or the rank that started another job.
bool belongs_to(const RankIdentity& inner, const RankIdentity& outer) {
  const bool other_job = !inner.rendezvous.empty() && !outer.rendezvous.empty() &&
                         inner.rendezvous != outer.rendezvous;
  const bool same_number =
      inner.rank == outer.rank && inner.source <= outer.source && !of_other_worlds(inner, outer);
  // A child that lost RANK but still has the number of the launcher above its rank.
  const bool weaker = inner.source > outer.source;
  return other_job || same_number || weaker || same_rank(inner, outer);
}

// A process requested by its pid is never a wrapper, whatever it waits for.
WrapperQuestion question_of_wrappers(const ProcessTree& tree, const DiscoverOptions& options) {
  const auto is_given = [&tree, &options](std::size_t i) {
    const pid_t pid = tree[i].facts->stat.pid;
    return std::find(options.pids.begin(), options.pids.end(), pid) != options.pids.end();
  };
  const auto may_be = [&tree, &options](std::size_t i) { return may_be_rank(tree[i], options); };
  return {tree, may_be, [may_be, is_given](std::size_t i) { return may_be(i) && !is_given(i); }};
}

// Returns whether a wrapper of the same rank has started it beside the process that it wraps.
bool is_beside_wrapped(const ProcessTree& tree,
                       const std::vector<std::size_t>& wrapped,
                       std::size_t index) {
  const std::size_t wrapper = tree.ancestor(index, [&](std::size_t above) {
    const std::size_t rank = wrapped[above];
    if (rank == kNoProcess || rank == index ||
        !belongs_to(*tree[index].identity, *tree[above].identity)) {
      return false;
    }
    return tree.ancestor(index, [rank](std::size_t at) { return at == rank; }) == kNoProcess;
  });
  return wrapper != kNoProcess;
}

std::vector<std::size_t> outermost(const ProcessTree& tree,
                                   const std::vector<std::size_t>& wrapped,
                                   const DiscoverOptions& options) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < tree.size(); ++i) {
    if (!may_be_rank(tree[i], options) || wrapped[i] != kNoProcess ||
        is_beside_wrapped(tree, wrapped, i)) {
      continue;
    }
    const std::size_t outer = tree.ancestor(i, [&](std::size_t above) {
      return may_be_rank(tree[above], options) && wrapped[above] == kNoProcess &&
             belongs_to(*tree[i].identity, *tree[above].identity);
    });
    if (outer == kNoProcess) {
      found.push_back(i);
    }
  }
  return found;
}

// Recognises an orphan that a rank has left behind: a process that the rank forked, or that
// multiprocessing started for it. A program may also fork to become a daemon; but then all ranks of
// a job do.
bool is_left_behind(const ProcessTree& tree,
                    const std::vector<std::size_t>& candidates,
                    std::size_t index) {
  if (!is_orphan(tree, index)) {
    return false;
  }
  const ProcessFacts& facts = *tree[index].facts;
  const auto& identity = *tree[index].identity;
  return facts.reported.inherited || is_multiprocessing_child(facts.arguments) ||
         (facts.stat.forked &&
          std::any_of(candidates.begin(), candidates.end(), [&](std::size_t other) {
            return tree[other].identity->job == identity.job &&
                   tree[other].identity->rank != identity.rank && !is_orphan(tree, other);
          }));
}

// Returns whether the rank, of which these are the candidates, has exited: only orphans are left,
// or in addition a shell that started it, say. If another process of its program exists, an orphan
// is its worker; the choice among them shows that.
bool has_exited(const ProcessTree& tree,
                const std::vector<std::size_t>& candidates,
                const std::vector<std::size_t>& of_rank) {
  const auto is_left = [&](std::size_t i) { return is_left_behind(tree, candidates, i); };
  const bool had_group = std::any_of(of_rank.begin(), of_rank.end(), [&](std::size_t i) {
    return tree[i].facts->reported.inherited && is_left(i);
  });
  return std::all_of(of_rank.begin(), of_rank.end(), [&](std::size_t i) {
    return is_left(i) || (had_group && !is_python(tree[i].facts->arguments));
  });
}

// Removes candidates whose rank has exited. Returns the orphans among them.
std::vector<std::size_t> take_survivors(const ProcessTree& tree,
                                        std::vector<std::size_t>& candidates) {
  std::vector<std::size_t> removed;
  for (const auto& [key, group] : by_rank(tree, candidates)) {
    if (has_exited(tree, candidates, group)) {
      removed.insert(removed.end(), group.begin(), group.end());
    }
  }
  std::vector<std::size_t> survivors;
  std::copy_if(removed.begin(), removed.end(), std::back_inserter(survivors),
               [&](std::size_t i) { return is_left_behind(tree, candidates, i); });
  std::erase_if(candidates, [&removed](std::size_t i) {
    return std::find(removed.begin(), removed.end(), i) != removed.end();
  });
  return survivors;
}

}  // namespace

bool matches(const ProcessFacts& facts, const DiscoverOptions& options) {
  return names_job(facts, options) && !is_pretender(facts, options);
}

bool is_pretender(const ProcessFacts& facts, const DiscoverOptions& options) {
  return names_job(facts, options) && options.slurm_user && facts.user != *options.slurm_user &&
         !facts.step_proven;
}

std::vector<std::size_t> conducts_to_read(ProcessTree& tree, const DiscoverOptions& options) {
  drop_inherited_groups(tree);
  drop_inherited_numbers(tree, find_rank_launchers(tree));
  const WrapperQuestion question = question_of_wrappers(tree, options);
  std::vector<std::size_t> wanted = conducts_to_read(question);
  if (!wanted.empty() || !options.pids.empty()) {
    return wanted;
  }
  name_jobs_by_launcher(tree);
  const std::vector<std::size_t> candidates = outermost(tree, find_wrapped(question), options);
  split_users(tree, options.slurm_user.value_or(options.reader), candidates);
  return conducts_of_jobs(tree, options, candidates);
}

RankChoice choose_ranks(ProcessTree& tree, const DiscoverOptions& options) {
  drop_inherited_groups(tree);
  drop_inherited_numbers(tree, find_rank_launchers(tree));
  name_jobs_by_launcher(tree);
  RankChoice choice;
  choice.wrapped = find_wrapped(question_of_wrappers(tree, options));
  std::vector<std::size_t> candidates = outermost(tree, choice.wrapped, options);
  split_users(tree, options.slurm_user.value_or(options.reader), candidates);
  if (options.pids.empty()) {
    choice.side_jobs = drop_side_jobs(tree, options, candidates);
  }
  split_jobs(tree, candidates);
  if (options.pids.empty()) {
    choice.survivors = take_survivors(tree, candidates);
  }
  choice.other_runs = drop_other_runs(tree, options, candidates);
  const RankClaims claims(tree, candidates);
  for (const auto& [key, group] : by_rank(tree, candidates)) {
    const std::size_t best = claims.best_of(group);
    choice.ranks.push_back(best);
    for (const std::size_t i : group) {
      if (is_orphan(tree, i) && tree[i].facts->stat.start_us < tree[best].facts->stat.start_us) {
        choice.leftovers.push_back(i);
      }
    }
  }
  return choice;
}

}  // namespace oddrank::ranks
