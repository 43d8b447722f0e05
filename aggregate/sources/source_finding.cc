#include "aggregate/sources/source_finding.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <set>

#include <fmt/format.h>

#include "aggregate/flight/flight_capture.h"
#include "aggregate/sources/hardware_job.h"
#include "aggregate/sources/ras_job.h"
#include "aggregate/view/compare.h"
#include "aggregate/view/rank_set.h"
#include "base/printable.h"
#include "base/span_words.h"

namespace oddrank::aggregate {
namespace {

std::vector<std::int32_t> ranks_named(const Verdict& verdict) {
  std::vector<std::int32_t> ranks = numbers_of(verdict.culprits);
  std::ranges::sort(ranks);
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

// Returns whether they share a rank. Two sources see different parts of one chain; naming no rank
// is no contradiction.
std::optional<bool> agreement(const std::vector<std::int32_t>& ranks, const Verdict& verdict) {
  std::vector<std::int32_t> named = ranks_named(verdict);
  for (const OtherStory& story : verdict.also) {
    std::ranges::copy(numbers_of(story.culprits), std::back_inserter(named));
  }
  std::ranges::sort(named);
  if (ranks.empty() || named.empty()) {
    return std::nullopt;
  }
  return std::ranges::any_of(
      ranks, [&named](std::int32_t rank) { return std::ranges::binary_search(named, rank); });
}

// Says how long before the last sample of a rank the oldest dump was written.
std::string age_words(const FlightReport& report, const JobView& view) {
  std::uint64_t written = std::numeric_limits<std::uint64_t>::max();
  for (const FlightRecord* record : report.job.records) {
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

// Says which rank ends a circle of calls: calls are asynchronous, and it has its call under way and
// stands elsewhere; "" if none does.
std::string elsewhere_words(const JobView& view, const Verdict& told) {
  if (told.kind != Kind::kCollectiveOrder && told.kind != Kind::kP2pOrder) {
    return {};
  }
  std::set<std::int32_t> elsewhere;
  for (const std::int32_t rank : ranks_named(told)) {
    const std::size_t at = view.index_of(rank);
    if (at != JobView::kNone && view.rank(at).decider != nullptr && !view.rank(at).decider->call) {
      elsewhere.insert(rank);
    }
  }
  return elsewhere.empty() ? std::string()
                           : fmt::format(". That is no circle: {} {} elsewhere",
                                         ranks_phrase({elsewhere.begin(), elsewhere.end()}),
                                         elsewhere.size() == 1 ? "stands" : "stand");
}

void add_flight(const JobView& view,
                const FlightReport* flight,
                const Verdict& verdict,
                std::vector<SourceFinding>& findings) {
  if (flight == nullptr) {
    return;
  }
  SourceFinding finding;
  finding.source = "flight recorder";
  const Verdict& told = flight->verdict;
  // A call that has not ended everywhere is under way in a job that moves, and waits for a rank
  // that is stopped: the stacks know better.
  if (told.kind == Kind::kBelowHost &&
      (!is_stall(verdict.kind) || verdict.kind == Kind::kStoppedRank)) {
    return;
  }
  const std::size_t dumps = flight->job.records.size();
  const bool memory = is_from_memory(*flight);
  finding.text = fmt::format(
      "{} of {} ranks{}: {}{}",
      memory ? fmt::format("calls in the memory of {}", dumps) : count_of(dumps, "dump"),
      view.ranks().size(), memory ? "" : age_words(*flight, view),
      told.confidence == Confidence::kPossible ? "perhaps " : "", told.summary);
  finding.ranks = ranks_named(told);
  finding.agrees = agreement(finding.ranks, verdict);
  if (!finding.ranks.empty() && !is_current(*flight, view)) {
    finding.text += ". Nothing shows that this is the hang that the stacks show";
  } else if (!verdict.culprits.empty()) {
    finding.text += elsewhere_words(view, told);
  }
  findings.push_back(std::move(finding));
}

void add_ras(const JobView& view, const Verdict& verdict, std::vector<SourceFinding>& findings) {
  constexpr std::size_t kMaxCommunicators = 4;  // communicators that the text describes
  const std::vector<RasCommunicatorView> communicators = view_ras(view);
  std::string text;
  std::size_t told = 0;
  for (const RasCommunicatorView& communicator : communicators) {
    const std::string words = ras_words(communicator);
    if (!words.empty() && ++told <= kMaxCommunicators) {
      text += (text.empty() ? "" : ". ") + words;
    }
  }
  if (text.empty()) {
    return;
  }
  SourceFinding finding;
  finding.source = ras_source(communicators);
  finding.text = fmt::format("NCCL {}, {}", communicators.front().version, text);
  if (told > kMaxCommunicators) {
    finding.text += fmt::format(". {}", count_of(told - kMaxCommunicators, "more communicator"));
  }
  finding.ranks = behind_by_ras(communicators);
  finding.agrees = agreement(finding.ranks, verdict);
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
void add_log(const JobView& view, const Verdict& verdict, std::vector<SourceFinding>& findings) {
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
    finding.agrees = agreement(finding.ranks, verdict);
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
                                        const FlightReport* flight,
                                        const Verdict& verdict) {
  std::vector<SourceFinding> findings;
  add_flight(view, flight, verdict, findings);
  add_ras(view, verdict, findings);
  add_log(view, verdict, findings);
  add_devices(view, findings);
  return findings;
}

std::string source_words(const SourceFinding& finding) {
  const bool disagrees = finding.agrees && !*finding.agrees;
  return fmt::format("{}: {}{}", finding.source, finding.text,
                     disagrees ? ". This disagrees with the verdict: it names other ranks" : "");
}

}  // namespace oddrank::aggregate
