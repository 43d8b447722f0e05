// A rank is in state T (stopped) or t (held by a tracer), or frozen by its cgroup. Its frames may
// show it in the very call that the others wait in; it still takes no part. Likewise a child that
// the rank waits for.
#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "aggregate/blame/local_story.h"
#include "aggregate/rules/all_rules.h"
#include "aggregate/words/wait_words.h"
#include "base/printable.h"
#include "base/span_words.h"

namespace oddrank::aggregate {
namespace {

std::string stop_predicate(const RuleInput& input, const RankView& rank) {
  std::string text =
      is_frozen(input.view, rank) ? "is frozen by its cgroup" : "is stopped (state T)";
  if (rank.state() == 't') {
    const snapshot::ThreadSample* sample = rank.sample();
    const std::string name =
        sample == nullptr ? "" : printable(input.view.text(sample->tracer_name), 40);
    const pid_t tracer = sample != nullptr && sample->tracer != 0 ? sample->tracer
                         : rank.decider == nullptr                ? 0
                                                                  : rank.decider->wait.holder_pid;
    text = tracer == 0 ? "is held by a tracer (state t)"
                       : fmt::format("is held by a tracer, {}pid {} (state t)",
                                     name.empty() ? "" : name + ", ", tracer);
  }
  return text;
}

// Returns "it last ran 5 s ago, and they have waited for 14 s: ..." if the stop is younger than the
// wait of each rank that waits for this one: then the stop did not cause their waits; else "".
std::string younger_than_waits(const RuleInput& input, std::size_t at, const RankView& stopped) {
  constexpr std::int64_t kMinGapMs = 3000;  // by which the ages of one moment differ
  const std::int64_t age = stopped.decider == nullptr ? -1 : stopped.decider->wait.quiet_ms;
  std::int64_t least = -1;
  for (const std::size_t waiter : waiters_of(input.graph, at)) {
    const RankView& rank = input.rank(waiter);
    const std::int64_t quiet = rank.decider == nullptr ? -1 : rank.decider->wait.quiet_ms;
    least = least < 0 ? quiet : std::min(least, quiet);
  }
  return age < 0 || least < age + kMinGapMs
             ? std::string()
             : fmt::format(
                   "it last ran {} ago, and they have waited for {}: it is stopped again "
                   "and again, or something else held it up before",
                   span_words(std::chrono::milliseconds(age)),
                   span_words(std::chrono::milliseconds(least)));
}

}  // namespace

std::vector<Finding> stopped_rank(const RuleInput& input) {
  const std::vector<std::size_t>& stopped = input.with_story;
  Finding finding = accuse(input, Evidence::kState);
  // State T is a fact without waiting ranks; that it is the cause needs some.
  const RankView& first = input.end(stopped.front()).view();
  finding.summary = sentence_of_end(
      input, stopped, [&](const RankView& rank) { return stop_predicate(input, rank); });
  const std::string younger = younger_than_waits(input, stopped.front(), first);
  if (!younger.empty()) {
    finding.summary += "; " + younger;
  }
  if (!younger.empty() || input.young()) {
    finding.at_most(Confidence::kLikely);  // it may be stopped for a moment again and again
  }
  for (std::size_t i = 0; i < stopped.size(); ++i) {
    const RankView& rank = input.end(stopped[i]).view();
    WaitsFor& waits = finding.culprits[i].waits_for;
    const bool traced = rank.state() == 't';
    waits.what = traced ? snapshot::WaitOn::kDebugger : snapshot::WaitOn::kSignal;
    waits.detail = traced                        ? "held by a tracer"
                   : is_frozen(input.view, rank) ? "waits for its cgroup to be thawed"
                                                 : "waits for SIGCONT";
  }
  if (first.state() == 't') {
    finding.advice = {on_live(first, fmt::format("grep TracerPid /proc/{}/status", first.pid())),
                      "leave the debugger, or let it continue the process"};
  } else if (is_frozen(input.view, first)) {
    finding.advice = {
        on_live(first, fmt::format("cat /proc/{}/cgroup  (then cgroup.freeze there)", first.pid())),
        "find out who froze it: scontrol suspend, a container runtime"};
  } else {
    finding.advice = {on_live(first, fmt::format("kill -CONT {}", first.pid())),
                      "find out who stopped it: job control, scontrol suspend, a debugger or a "
                      "tool that was killed"};
  }
  finding.disproves = {"the rank running again while the others still wait"};
  finding.weakness = "others do not wait for it";
  return {finding};
}

}  // namespace oddrank::aggregate
