#include "ranks/wrappers.h"

#include <algorithm>

namespace oddrank::ranks {
namespace {

using List = std::vector<std::size_t>;

// Returns whether both name the same rank of the same job. Variables of an outer launcher may have
// the same number by chance.
bool names_same_rank(const RankIdentity& inner, const RankIdentity& outer) {
  return inner.rank == outer.rank && inner.source <= outer.source &&
         (inner.rendezvous == outer.rendezvous || inner.rendezvous.empty() ||
          outer.rendezvous.empty());
}

class Wrappers {
 public:
  explicit Wrappers(const WrapperQuestion& question);

  bool is_read(std::size_t i) const { return facts(i).activity_read; }

  // Returns whether the process sleeps, has no library, and is above a process that may be the rank
  // instead.
  bool may_give_way(std::size_t i) const;

  // Returns the process below `i` that is the rank if `i` is not, or kNoProcess.
  std::size_t wrapped(std::size_t i) const;

  const List& below(std::size_t i) const { return below_[i]; }

 private:
  const ProcessFacts& facts(std::size_t i) const { return *question_.tree[i].facts; }

  // Bounded by the tree: each process is below one other at most.
  bool communicates_below(std::size_t i) const;

  const WrapperQuestion& question_;
  std::vector<List> below_;  // the nearest processes of the same rank
};

Wrappers::Wrappers(const WrapperQuestion& question)
    : question_(question), below_(question.tree.size()) {
  for (std::size_t i = 0; i < question.tree.size(); ++i) {
    if (!question.may_be_rank(i)) {
      continue;
    }
    // Shells and launchers may lie in between.
    const std::size_t outer = question.tree.ancestor(i, question.may_be_rank);
    if (outer != kNoProcess &&
        names_same_rank(*question.tree[i].identity, *question.tree[outer].identity)) {
      below_[outer].push_back(i);
    }
  }
}

bool Wrappers::may_give_way(std::size_t i) const {
  const ProcessActivity& own = facts(i).activity;
  return question_.may_wrap(i) && !below_[i].empty() && !own.communicates &&
         (own.activity == Activity::kIdle || own.activity == Activity::kWaitsForChild);
}

std::size_t Wrappers::wrapped(std::size_t i) const {
  if (!may_give_way(i)) {
    return kNoProcess;
  }
  List talking;
  std::copy_if(below_[i].begin(), below_[i].end(), std::back_inserter(talking),
               [this](std::size_t child) { return communicates_below(child); });
  if (talking.size() == 1) {
    return talking.front();
  }
  const bool one = below_[i].size() == 1 && talking.empty();
  const std::size_t child = below_[i].front();
  const bool fits = is_python(facts(child).arguments) || !is_python(facts(i).arguments);
  return one && fits && facts(i).activity.activity == Activity::kWaitsForChild ? child : kNoProcess;
}

bool Wrappers::communicates_below(std::size_t i) const {
  List todo = {i};
  for (std::size_t at = 0; at < todo.size() && at < question_.tree.size(); ++at) {
    if (facts(todo[at]).activity.communicates) {
      return true;
    }
    todo.insert(todo.end(), below_[todo[at]].begin(), below_[todo[at]].end());
  }
  return false;
}

}  // namespace

std::vector<std::size_t> find_wrapped(const WrapperQuestion& question) {
  const Wrappers wrappers(question);
  List found;
  for (std::size_t i = 0; i < question.tree.size(); ++i) {
    found.push_back(wrappers.wrapped(i));
  }
  return found;
}

std::vector<std::size_t> conducts_to_read(const WrapperQuestion& question) {
  const Wrappers wrappers(question);
  List wanted;
  const auto want = [&](std::size_t i) {
    const char state = question.tree[i].facts->stat.state;  // reading one in D may never return
    if (!wrappers.is_read(i) && (state == 'S' || state == 'R')) {
      wanted.push_back(i);
    }
  };
  for (std::size_t i = 0; i < question.tree.size(); ++i) {
    if (question.may_wrap(i) && !wrappers.below(i).empty()) {
      want(i);
    }
    if (wrappers.may_give_way(i)) {
      std::for_each(wrappers.below(i).begin(), wrappers.below(i).end(), want);
    }
  }
  std::sort(wanted.begin(), wanted.end());
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  return wanted;
}

}  // namespace oddrank::ranks
