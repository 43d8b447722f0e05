#include "tests/golden/evidence_check.h"

#include <algorithm>
#include <regex>

#include "aggregate/evidence/wait_graph.h"
#include "aggregate/rules/all_rules.h"
#include "aggregate/rules/rule.h"
#include "aggregate/view/groups.h"
#include "snapshot/rank_text.h"

namespace oddrank::tests {
namespace {

using aggregate::JobView;
using aggregate::kFar;
using aggregate::Kind;
using aggregate::Verdict;
using aggregate::WaitGraph;

class Checker {
 public:
  Checker(const JobView& view, const Verdict& verdict)
      : view_(view),
        verdict_(verdict),
        graph_(aggregate::build_wait_graph(view)),
        input_(aggregate::make_input(view, graph_)) {}

  std::vector<std::string> run();

 private:
  std::vector<std::size_t> indices(const std::string& ranks) const;
  // Returns whether each waiter has a path to one of the others.
  bool all_reach(const std::vector<std::size_t>& waiters,
                 const std::vector<std::size_t>& others) const;
  void check_chain();
  void check_sentence();
  void check_certainty();

  const JobView& view_;
  const Verdict& verdict_;
  WaitGraph graph_;
  const aggregate::RuleInput input_;
  std::vector<std::string> complaints_;
};

std::vector<std::size_t> Checker::indices(const std::string& ranks) const {
  std::vector<std::size_t> found;
  for (const std::int32_t rank : snapshot::ranks_of(ranks)) {
    found.push_back(view_.index_of(rank));
  }
  return found;
}

bool Checker::all_reach(const std::vector<std::size_t>& waiters,
                        const std::vector<std::size_t>& others) const {
  const auto distance = aggregate::distances(graph_.in, others);
  return std::all_of(waiters.begin(), waiters.end(),
                     [&](std::size_t at) { return at != JobView::kNone && distance[at] != kFar; });
}

void Checker::check_chain() {
  for (const auto& link : verdict_.chain) {
    const auto waiters = indices(link.waiters);
    const auto others = indices(link.waits_for);
    if (!waiters.empty() && !others.empty() && !all_reach(waiters, others)) {
      complaints_.push_back("the chain says that ranks " + link.waiters + " wait for " +
                            link.waits_for);
    }
  }
}

void Checker::check_sentence() {
  static const std::regex kWaiters("ranks? ([0-9,-]+) waits? for (it|them)\\b");
  std::smatch said;
  if (verdict_.culprits.empty() || !std::regex_search(verdict_.summary, said, kWaiters)) {
    return;
  }
  const std::size_t culprit = view_.index_of(verdict_.culprits.front().rank);
  if (culprit == JobView::kNone || !all_reach(indices(said[1]), {culprit})) {
    complaints_.push_back("the sentence says '" + said.str() + "'");
  }
}

// What is certain rests on no guess; a rank that waits for others is named only in a circle.
void Checker::check_certainty() {
  for (const auto& culprit : verdict_.culprits) {
    const std::size_t at = view_.index_of(culprit.rank);
    if (culprit.rank < 0 || at == JobView::kNone) {
      continue;
    }
    if (verdict_.confidence == aggregate::Confidence::kCertain && input_.is_assumed(at)) {
      complaints_.push_back("rank " + std::to_string(culprit.rank) + " is certain by a guess");
    }
  }
}

std::vector<std::string> Checker::run() {
  check_chain();
  check_sentence();
  check_certainty();
  return complaints_;
}

}  // namespace

std::vector<std::string> unproven(const JobView& view, const Verdict& verdict) {
  return Checker(view, verdict).run();
}

}  // namespace oddrank::tests
