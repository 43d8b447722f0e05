#include "aggregate/sources/source_finding.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <set>

#include <fmt/format.h>

#include "aggregate/evidence/odd_devices.h"
#include "aggregate/flight/flight_words.h"
#include "aggregate/sources/ras_job.h"
#include "aggregate/view/compare.h"
#include "aggregate/view/rank_set.h"
#include "base/printable.h"
#include "base/span_words.h"

namespace oddrank::aggregate {
namespace {

// Returns whether a source names a rank of the verdict. Two sources see different parts of one
// chain: a source without a rank does not contradict, nor does a rank that waits, outside of calls,
// for one of the verdict.
std::optional<bool> agreement(const JobView& view,
                              const WaitGraph& graph,
                              const std::vector<std::int32_t>& ranks,
                              const Verdict& verdict) {
  std::vector<std::int32_t> culprits = numbers_of(verdict.culprits);
  for (const OtherStory& story : verdict.also) {
    std::ranges::copy(numbers_of(story.culprits), std::back_inserter(culprits));
  }
  const std::vector<std::size_t> named = view.indices_of(culprits);
  if (ranks.empty() || named.empty()) {
    return std::nullopt;
  }
  const auto is_named = [&](std::int32_t rank) { return std::ranges::count(culprits, rank) > 0; };
  if (std::ranges::any_of(ranks, is_named)) {
    return true;
  }
  const std::vector<std::size_t> distance = distances(graph.in, named);
  const bool all_wait = std::ranges::all_of(ranks, [&](std::int32_t rank) {
    const std::size_t at = view.index_of(rank);
    const auto* decider = at == JobView::kNone ? nullptr : view.rank(at).decider;
    return decider != nullptr && !decider->call && distance[at] != kFar;
  });
  return all_wait ? std::nullopt : std::optional(false);
}

// Says how long before the last sample of a rank the oldest dump was written.
std::string age_words(const FlightJob& job, const JobView& view) {
  std::uint64_t written = std::numeric_limits<std::uint64_t>::max();
  for (const FlightRecord* record : job.records) {
    written = std::min(written, record->written_us);
  }
  std::uint64_t newest = 0;
  for (const auto& process : view.capture().processes) {
    newest = std::max(newest, process.read_us);
  }
  if (written == 0 || newest == 0) {
    return {};
  }
  return written >= newest
             ? ", written now"
             : fmt::format(", written {} ago", span_words(UnsignedMicroseconds(newest - written)));
}

void add_flight(const JobView& view, const Verdict& verdict, std::vector<SourceFinding>& findings) {
  const FlightFacts* facts = view.flight();
  if (facts == nullptr) {
    return;
  }
  SourceFinding finding;
  finding.source = "flight recorder";
  finding.ranks =
      facts->mismatches.empty() ? ranks_not_come(*facts) : facts->mismatches.front().deviating();
  const bool all_came = finding.ranks.empty() && !facts->waits.empty() &&
                        std::ranges::all_of(facts->waits, [](const FlightWait& wait) {
                          return wait.absent.empty() && wait.unknown.empty();
                        });
  // In a job that moves, or has a stopped rank, it is normal that a call has not ended everywhere:
  // the stacks know better.
  if (all_came && (!is_stall(verdict.kind) || verdict.kind == Kind::kStoppedRank)) {
    return;
  }
  const std::size_t dumps = facts->job.records.size();
  const bool memory = is_from_memory(*facts);
  finding.text = fmt::format(
      "{} of {} ranks{}: {}",
      memory ? fmt::format("calls in the memory of {}", dumps) : count_of(dumps, "dump"),
      view.ranks().size(), memory ? "" : age_words(facts->job, view), flight_words(*facts));
  if (!finding.ranks.empty() && !is_current(view)) {
    finding.text += ". Nothing shows that this is the hang that the stacks show";
  }
  findings.push_back(std::move(finding));
}

void add_ras(const JobView& view, std::vector<SourceFinding>& findings) {
  constexpr std::size_t kMaxCommunicators = 4;  // communicators that the text describes
  const std::vector<RasCommunicatorView> communicators = view_ras(view);
  std::string text;
  std::size_t named = 0;
  std::set<std::int32_t> behind;  // while nothing moves
  for (const RasCommunicatorView& communicator : communicators) {
    for (const std::size_t at : communicator.behind) {
      const std::int32_t rank = communicator.members[at].rank;
      if (rank >= 0 && communicator.stood_still()) {
        behind.insert(rank);
      }
    }
    const std::string words = ras_words(communicator);
    if (!words.empty() && ++named <= kMaxCommunicators) {
      text += (text.empty() ? "" : ". ") + words;
    }
  }
  if (text.empty()) {
    return;
  }
  SourceFinding finding;
  finding.source = ras_source(communicators);
  finding.text = fmt::format("NCCL {}, {}", communicators.front().version, text);
  if (named > kMaxCommunicators) {
    finding.text += fmt::format(". {}", count_of(named - kMaxCommunicators, "more communicator"));
  }
  finding.ranks = {behind.begin(), behind.end()};
  findings.push_back(std::move(finding));
}

std::string timeout_words(const JobView& view, const std::vector<snapshot::LogLine>& log) {
  std::set<std::int32_t> ranks;
  const snapshot::LogLine* last = nullptr;
  for (const snapshot::LogLine& line : log) {
    if (line.kind == snapshot::LogKind::kWatchdogTimeout) {
      last = &line;
      if (line.rank >= 0) {
        ranks.insert(line.rank);
      }
    }
  }
  if (last == nullptr) {
    return {};
  }
  const std::string call =
      last->sequence < 0
          ? "a call"  // nccl2's watchdog does not say which one
          : fmt::format("{} #{}", printable(view.text(last->op), 40), last->sequence);
  return fmt::format("PyTorch's watchdog gave up {}{}", call,
                     ranks.empty() ? "" : " on " + ranks_in_short({ranks.begin(), ranks.end()}));
}

// Adds what the log says. The same file may hold lines of earlier attempts: they name no rank of
// the verdict.
void add_log(const JobView& view, std::vector<SourceFinding>& findings) {
  const auto& log = view.capture().collectives.log;
  std::vector<std::string> parts;
  if (std::string words = timeout_words(view, log); !words.empty()) {
    parts.push_back(std::move(words));
  }
  SourceFinding finding;
  std::set<std::int32_t> behind;
  const snapshot::LogLine* warning = nullptr;
  std::set<std::int32_t> starting;
  for (const snapshot::LogLine& line : log) {
    behind.insert(line.behind.begin(), line.behind.end());
    warning = line.kind == snapshot::LogKind::kWarning ? &line : warning;
    if (line.kind == snapshot::LogKind::kInit) {
      starting.insert(line.rank);
    }
  }
  if (!behind.empty()) {
    finding.ranks.assign(behind.begin(), behind.end());
    parts.push_back("its desync report names " + ranks_in_short(finding.ranks));
  }
  if (!starting.empty()) {
    starting.erase(-1);
    parts.push_back(
        "communicators of NCCL began to be made and are not complete" +
        (starting.empty() ? "" : " on " + ranks_in_short({starting.begin(), starting.end()})));
  }
  if (warning != nullptr) {
    parts.push_back("the last warning of NCCL: " + printable(view.text(warning->text), 160));
  }
  for (const std::string& part : parts) {
    finding.text += (finding.text.empty() ? "" : "; ") + part;
  }
  if (!finding.text.empty()) {
    finding.source = "log";
    findings.push_back(std::move(finding));
  }
}

void add_devices(const JobView& view, std::vector<SourceFinding>& findings) {
  for (std::string& sentence : device_sentences(view)) {
    findings.push_back({"device", std::move(sentence), {}, std::nullopt});
  }
}

}  // namespace

std::vector<SourceFinding> find_sources(const JobView& view,
                                        const WaitGraph& graph,
                                        const Verdict& verdict) {
  std::vector<SourceFinding> findings;
  add_flight(view, verdict, findings);
  add_ras(view, findings);
  add_log(view, findings);
  add_devices(view, findings);
  for (SourceFinding& finding : findings) {
    finding.agrees = agreement(view, graph, finding.ranks, verdict);
  }
  return findings;
}

std::string source_words(const SourceFinding& finding) {
  const bool disagrees = finding.agrees && !*finding.agrees;
  return fmt::format("{}: {}{}", finding.source, finding.text,
                     disagrees ? ". This disagrees with the verdict: it names other ranks" : "");
}

}  // namespace oddrank::aggregate
