// The job moves, and in every sample the same rank is the only one outside of communication while
// the others wait. Conservative: needs at least three samples that all agree.
#include <algorithm>

#include <fmt/format.h>

#include "aggregate/frames/frame_model.h"
#include "aggregate/rules/all_rules.h"

namespace oddrank::aggregate {
namespace {

constexpr std::size_t kMinSamples = 3;

bool communicates(const JobView& view, const snapshot::ThreadSample& sample) {
  for (const ShownFrame& frame : view.model().fold(sample).frames) {
    const std::string_view name = frame.name;
    if (frame.file.find("distributed_c10d.py") != std::string::npos ||
        name.substr(0, 6) == "c10d::" || name.substr(0, 6) == "gloo::" ||
        name.substr(0, 4) == "nccl" || name.substr(0, 4) == "MPI_") {
      return true;
    }
  }
  return false;
}

// Returns the one rank outside of communication in this sample; kNone if there is not exactly one.
std::size_t straggler(const JobView& view, std::size_t sample) {
  std::size_t found = JobView::kNone;
  for (std::size_t at = 0; at < view.ranks().size(); ++at) {
    if (communicates(view, view.ranks()[at].leader->samples[sample])) {
      continue;
    }
    if (found != JobView::kNone) {
      return JobView::kNone;
    }
    found = at;
  }
  return found;
}

}  // namespace

std::vector<Finding> slow(const RuleInput& input) {
  const auto& ranks = input.view.ranks();
  const bool usable = std::all_of(ranks.begin(), ranks.end(), [](const RankView& rank) {
    return rank.presence == Presence::kRead && rank.leader != nullptr &&
           rank.leader->samples.size() >= kMinSamples && !rank.motion.still();
  });
  if (!usable || ranks.size() < 3) {
    return {};
  }
  std::size_t samples = ranks.front().leader->samples.size();
  for (const RankView& rank : ranks) {
    samples = std::min(samples, rank.leader->samples.size());
  }
  const std::size_t late = straggler(input.view, 0);
  for (std::size_t sample = 1; sample < samples; ++sample) {
    if (late == JobView::kNone || straggler(input.view, sample) != late) {
      return {};
    }
  }
  Finding finding = accuse(input, Kind::kSlow, {late}, Evidence::kAbsence);
  finding.confidence = Confidence::kLikely;
  finding.summary =
      fmt::format("the job moves, but {} was late in all of {} samples: the others wait for it",
                  JobView::name(ranks[late]), samples);
  finding.advice = {on_host(ranks[late]) + "compare its clocks, temperature and load with others",
                    fmt::format("oddrank node {}  ({}shows what it does)", ranks[late].pid(),
                                on_host(ranks[late]))};
  finding.disproves = {"another rank being the last in later samples"};
  return {finding};
}

}  // namespace oddrank::aggregate
