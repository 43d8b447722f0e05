#include "aggregate/explain/explain.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "aggregate/flight/flight_facts.h"
#include "aggregate/rules/rule.h"
#include "aggregate/view/rank_set.h"
#include "aggregate/words/wait_words.h"
#include "aggregate/words/word_of.h"
#include "base/printable.h"

namespace oddrank::aggregate {
namespace {

constexpr std::size_t kMaxFacts = 64;

class Explainer {
 public:
  Explainer(const JobView& view, const Verdict& verdict);
  Explanation run();

 private:
  using Ranks = std::vector<std::size_t>;

  std::string who(const Ranks& ranks) const;
  std::string label(std::size_t node) const;
  void add_facts();
  void add_stands();
  void add_causes();
  ExplainedCause cause(CauseId id) const;
  std::string rivals_words(const Cause& cause) const;
  void add_unused();

  const JobView& view_;
  const Verdict& verdict_;
  WaitGraph graph_;
  const RuleInput input_;
  Explanation result_;
};

Explainer::Explainer(const JobView& view, const Verdict& verdict)
    : view_(view),
      verdict_(verdict),
      graph_(build_wait_graph(view)),
      input_(make_input(view, graph_)) {}

Explanation Explainer::run() {
  add_facts();
  add_stands();
  add_causes();
  add_unused();
  return std::move(result_);
}

std::string Explainer::who(const Ranks& ranks) const {
  return ranks_words(input_, ranks);
}

std::string Explainer::label(std::size_t node) const {
  const GraphNode& it = graph_.nodes[node];
  return it.kind == NodeKind::kRank ? who({it.index}) : label_of(view_, graph_, it);
}

// Joins the waits of ranks for the same thing, and of one call for several ranks.
void Explainer::add_facts() {
  using Key = std::tuple<std::string, std::string, std::string, std::string, HowKnown, bool>;
  struct Row {
    const GraphEdge* first = nullptr;
    Ranks from;
    Ranks to;
  };
  std::map<Key, std::size_t> known;
  std::vector<Row> rows;
  for (const GraphEdge& edge : graph_.edges) {
    const bool of_rank = graph_.nodes[edge.from].kind == NodeKind::kRank;
    const bool for_rank = graph_.nodes[edge.to].kind == NodeKind::kRank;
    const Key key(of_rank ? std::string() : label(edge.from),
                  for_rank && !of_rank ? std::string() : label(edge.to), graph_.text(edge.on),
                  of_rank ? std::string() : graph_.text(edge.evidence), edge.how, edge.assumed);
    const auto [at, is_new] = known.try_emplace(key, rows.size());
    if (is_new) {
      rows.push_back({&edge, {}, {}});
    }
    if (of_rank) {
      rows[at->second].from.push_back(edge.from);
    } else if (for_rank) {
      rows[at->second].to.push_back(edge.to);
    }
  }
  for (const auto& [edge, from, to] : rows) {
    if (result_.facts.size() == kMaxFacts) {
      result_.more_facts = rows.size() - kMaxFacts;
      break;
    }
    ExplainedFact fact;
    fact.who = from.empty() ? label(edge->from) : who(from);
    fact.waits_for = to.empty() ? label(edge->to) : who(to);
    fact.on = graph_.text(edge->on);
    fact.evidence = graph_.text(edge->evidence);
    fact.how = edge->how;
    fact.guess = edge->assumed;
    for (const std::size_t rank : from) {
      const auto* decider = view_.rank(rank).decider;
      const std::int64_t quiet = decider == nullptr ? -1 : decider->wait.quiet_ms;
      fact.quiet_ms = fact.quiet_ms < 0 ? quiet : std::min(fact.quiet_ms, quiet);
    }
    result_.facts.push_back(std::move(fact));
  }
}

void Explainer::add_stands() {
  // In the order of BlockedOn.
  constexpr std::array<std::string_view, 7> kWords = {
      "wait for other ranks",
      "are in a call; it is not known which ranks they wait for in it, or all members are in it",
      "wait for an unknown holder, which may be another rank",
      "wait for something of their own process or device; what holds it is not known",
      "sleep for a short time again and again; what they ask for in between is not known",
      "were not read, or are in a library that could not be read",
      "can move by themselves, or are held by something of their own",
  };
  std::array<Ranks, kWords.size()> ranks;
  for (std::size_t at = 0; at < input_.blame.blocked.size(); ++at) {
    ranks.at(static_cast<std::size_t>(input_.blame.blocked[at])).push_back(at);
  }
  for (std::size_t on = 0; on < ranks.size(); ++on) {
    if (!ranks.at(on).empty()) {
      result_.blocked.push_back({who(ranks.at(on)), std::string(kWords.at(on))});
    }
  }
}

std::string Explainer::rivals_words(const Cause& cause) const {
  if (cause.circle) {
    return cause.certain ? "it remains" : "one of the waits may have another holder";
  }
  switch (cause.unknown == Unknown::kAnybody ? cause.rivals : Rivals::kNone) {
    case Rivals::kOpen:
      return "it may wait for another one whose holder is not known either";
    case Rivals::kFree:
      return "it may wait for a rank that can move, or that is blocked for another reason";
    case Rivals::kNone:
      break;
  }
  return cause.unknown == Unknown::kAnybody ? "it remains: all others need it themselves"
                                            : "it remains";
}

ExplainedCause Explainer::cause(CauseId id) const {
  const Cause& it = input_.blame.solution.causes[id];
  ExplainedCause row;
  row.circle = it.circle;
  row.pessimistic = rivals_words(it);
  const std::uint32_t node = it.nodes.front();
  row.is_rank = it.circle || node < view_.ranks().size() || is_below_host(graph_.nodes[node].kind);
  if (!it.circle) {
    row.who = label(node);
    row.waiters = input_.blame.needed[id];
    return row;
  }
  const Ranks ranks = ranks_of_cause(graph_, it);
  row.who = who(ranks);
  row.waiters = ranks.empty() ? 0 : input_.blame.waiters[ranks.front()];
  row.closed = std::ranges::any_of(input_.blame.circles, [&ranks](const Circle& one) {
    return one.ranks == ranks && one.closed;
  });
  return row;
}

void Explainer::add_causes() {
  std::vector<bool> needed(input_.blame.solution.causes.size(), false);
  for (std::size_t at = 0; at < view_.ranks().size(); ++at) {
    for (const CauseId id : input_.blame.solution.sets.of(input_.blame.solution.may[at])) {
      const auto& nodes = input_.blame.solution.causes[id].nodes;
      needed[id] = needed[id] || nodes.size() > 1 || nodes.front() != at;
    }
  }
  for (CauseId id = 0; id < needed.size(); ++id) {
    if (needed[id]) {
      result_.causes.push_back(cause(id));
    }
  }
  std::ranges::stable_sort(result_.causes,
                           [](const auto& a, const auto& b) { return a.waiters > b.waiters; });
}

void Explainer::add_unused() {
  for (const Alternative& other : verdict_.alternatives) {
    result_.not_used.push_back(
        fmt::format("{}: {} ({})", kind_name(other.kind), other.summary, other.why_not));
  }
  if (view_.flight() != nullptr && !is_current(view_)) {
    result_.not_used.emplace_back(
        "the recorded calls: nothing shows that they are of the hang that the stacks show");
  }
  if (input_.young()) {
    result_.not_used.push_back(
        fmt::format("that ranks stand still: their waits are {:.1f} s old, and may be a slow step",
                    static_cast<double>(input_.oldest_wait_ms) / 1000));
  }
}

}  // namespace

std::string_view how_name(HowKnown how) {
  constexpr std::array<std::string_view, 5> kNames = {"text", "exclusion", "frames", "memory",
                                                      "kernel"};
  return word_of(kNames, how);
}

Explanation explain(const JobView& view, const Verdict& verdict) {
  return Explainer(view, verdict).run();
}

}  // namespace oddrank::aggregate
