// A rank in state T (stopped) or t (held by a tracer). Its frames may show it in the very call that
// the others wait in; it takes no part.
#include <fmt/format.h>

#include "aggregate/rules/all_rules.h"

namespace oddrank::aggregate {
namespace {

std::string predicate(const RuleInput& input, std::size_t at) {
  const RankView& rank = input.view.ranks()[at];
  std::string text = "is stopped (state T)";
  if (rank.state() == 't') {
    const pid_t tracer = rank.leader == nullptr ? 0 : rank.leader->wait.holder_pid;
    text = tracer != 0 ? fmt::format("is held by a tracer, pid {} (state t)", tracer)
                       : "is held by a tracer (state t)";
  }
  const std::string awaited = awaited_words(input, at);
  return awaited.empty() ? text : text + "; " + awaited;
}

}  // namespace

std::vector<Finding> stopped_rank(const RuleInput& input) {
  std::vector<std::size_t> stopped;
  for (std::size_t at = 0; at < input.view.ranks().size(); ++at) {
    const char state = input.view.ranks()[at].state();
    if (state == 'T' || state == 't') {
      stopped.push_back(at);
    }
  }
  if (stopped.empty()) {
    return {};
  }
  Finding finding = accuse(input, Kind::kStoppedRank, stopped, Evidence::kState);
  // State T needs no waiting ranks to be a fact; that it is the cause does.
  const RankView& first = input.view.ranks()[stopped.front()];
  finding.weight += 1500;
  finding.summary =
      sentence(input, stopped, [&](const RankView&) { return predicate(input, stopped.front()); });
  for (Culprit& culprit : finding.culprits) {
    const RankView& rank = input.view.ranks()[input.view.index_of(culprit.rank) == JobView::kNone
                                                  ? stopped.front()
                                                  : input.view.index_of(culprit.rank)];
    const bool traced = rank.state() == 't';
    culprit.waits_for.what = traced ? snapshot::WaitOn::kDebugger : snapshot::WaitOn::kSignal;
    culprit.waits_for.detail = traced ? "held by a tracer" : "waits for SIGCONT";
  }
  if (first.state() == 't') {
    finding.advice = {fmt::format("{}grep TracerPid /proc/{}/status", on_host(first), first.pid()),
                      "leave the debugger, or let it continue the process"};
  } else {
    finding.advice = {fmt::format("{}kill -CONT {}", on_host(first), first.pid()),
                      "find out who stopped it: job control, scontrol suspend, a debugger or a "
                      "tool that was killed"};
  }
  finding.disproves = {"the rank running again while the others still wait"};
  finding.weakness = "others do not wait for it";
  return {finding};
}

}  // namespace oddrank::aggregate
