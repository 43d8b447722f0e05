// The job moves, and in every sample the same rank is the only one outside of communication while
// the others wait, in a call or for their device. In a healthy job, too, some rank is the last in
// each step. It must be unlikely that it is always the same one by chance, so few ranks need more
// samples than many.
#include <algorithm>

#include <fmt/format.h>

#include "aggregate/blame/local_story.h"
#include "aggregate/frames/frame_model.h"
#include "aggregate/rules/all_rules.h"
#include "aggregate/words/wait_words.h"

namespace oddrank::aggregate {
namespace {

constexpr std::size_t kMinSamples = 3;
// Among equal ranks, the chance that one of them is the last in all steps is 1 / ranks^(steps - 1).
// At most one in fifty: 3 samples of 8 ranks, or 5 of 3.
constexpr std::size_t kMinOdds = 50;

// Returns whether the function waits for a GPU, whose work mostly ends with a collective: this one
// waits for the last rank.
bool waits_for_device(std::string_view function) {
  return function.ends_with("Synchronize") &&
         (function.starts_with("cu") || function.starts_with("hip"));
}

bool stands_stopped(const snapshot::ThreadSample& sample) {
  return snapshot::is_stopped_state(sample.state);
}

// A thread that is stopped in a call takes no part in it.
bool communicates(const JobView& view, const snapshot::ThreadSample& sample) {
  if (stands_stopped(sample)) {
    return false;
  }
  const auto& frames = view.model().fold(sample).frames;
  return view.model().story(sample, Story::kCommunicates) ||
         std::ranges::any_of(frames,
                             [](const ShownFrame& frame) { return waits_for_device(frame.name); });
}

// Returns the one rank outside of communication in this sample; kNone if there is not exactly one.
std::size_t straggler(const JobView& view, std::size_t sample) {
  std::size_t found = JobView::kNone;
  for (std::size_t at = 0; at < view.ranks().size(); ++at) {
    if (communicates(view, view.rank(at).decider->samples[sample])) {
      continue;
    }
    if (found != JobView::kNone) {
      return JobView::kNone;
    }
    found = at;
  }
  return found;
}

bool went_on(const snapshot::ThreadSample& before, const snapshot::ThreadSample& after) {
  return after.locals_changed || after.stack != before.stack ||
         snapshot::ran_between(before, after).at_all;
}

// Returns whether all ranks that waited for `late` have run since the sample before: else both
// samples are from one step, and count as one.
bool is_another_step(const JobView& view, std::size_t late, std::size_t sample) {
  for (std::size_t at = 0; at < view.ranks().size(); ++at) {
    const auto& samples = view.rank(at).decider->samples;
    if (at != late && !went_on(samples[sample - 1], samples[sample])) {
      return false;
    }
  }
  return true;
}

bool is_no_chance(std::size_t ranks, std::size_t steps) {
  std::size_t odds = 1;
  for (std::size_t step = 1; step < steps && odds < kMinOdds; ++step) {
    odds *= ranks;
  }
  return odds >= kMinOdds;
}

// Returns the rank that was the last in all samples; kNone if no rank was, or if that may be
// chance.
std::size_t late_in_all(const JobView& view, std::size_t samples) {
  const std::size_t late = straggler(view, 0);
  std::size_t steps = 1;
  for (std::size_t sample = 1; sample < samples; ++sample) {
    if (late == JobView::kNone || straggler(view, sample) != late) {
      return JobView::kNone;
    }
    steps += is_another_step(view, late, sample) ? 1 : 0;
  }
  return is_no_chance(view.ranks().size(), steps) ? late : JobView::kNone;
}

std::size_t count_stops(const RankView& rank) {
  const auto& samples = rank.decider->samples;
  return static_cast<std::size_t>(std::ranges::count_if(samples, stands_stopped));
}

// Returns the rank that was found stopped in most samples, and in more than one; kNone if no rank
// was.
std::size_t stopped_again(const JobView& view) {
  std::size_t found = JobView::kNone;
  std::size_t most = 1;
  for (std::size_t at = 0; at < view.ranks().size(); ++at) {
    if (const std::size_t stops = count_stops(view.rank(at)); stops > most) {
      found = at;
      most = stops;
    }
  }
  return found;
}

}  // namespace

std::vector<Finding> slow(const RuleInput& input) {
  const auto& ranks = input.view.ranks();
  const bool usable = std::ranges::all_of(ranks, [](const RankView& rank) {
    return rank.presence == Presence::kRead && rank.decider != nullptr &&
           rank.decider->samples.size() >= kMinSamples && !rank.motion.still();
  });
  if (!usable || ranks.size() < 2) {
    return {};
  }
  std::size_t samples = ranks.front().decider->samples.size();
  for (const RankView& rank : ranks) {
    samples = std::min(samples, rank.decider->samples.size());
  }
  const std::size_t stopped = stopped_again(input.view);
  const std::size_t late =
      stopped != JobView::kNone || ranks.size() < 3 ? stopped : late_in_all(input.view, samples);
  if (late == JobView::kNone) {
    return {};
  }
  Finding finding = accuse(input, Kind::kSlow, {late}, Evidence::kAbsence);
  finding.confidence = Confidence::kLikely;
  finding.explains = ranks.size() - 1;  // all others, step by step, also if none waits just now
  const std::string name = JobView::name(ranks[late]);
  if (late == stopped) {
    finding.summary = fmt::format(
        "the job moves, but {} is stopped again and again (state T in {} of {} samples): the "
        "others wait for it",
        name, count_stops(ranks[late]), ranks[late].decider->samples.size());
    finding.advice = {
        "find what stops it and lets it go on: job control, a script, a limit of CPU time, a "
        "debugger"};
    finding.disproves = {"later samples in which it is never stopped"};
    return {finding};
  }
  finding.summary = fmt::format(
      "the job moves, but {} was late in all of {} samples: the others wait for it", name, samples);
  finding.advice = {on(ranks[late], "compare its clocks, temperature and load with others"),
                    on_live(ranks[late], fmt::format("oddrank node {}  (shows what it does)",
                                                     ranks[late].pid()))};
  finding.disproves = {"another rank being the last in later samples"};
  return {finding};
}

// Others wait for a rank that is seen to get work done: an evaluation, a cache that it fills for
// all, a stage with more to do. Nothing else holds the job up.
std::vector<Finding> has_work(const RuleInput& input) {
  const std::vector<std::size_t>& ranks = input.with_story;
  if (ranks.size() == input.view.ranks().size()) {
    return {};  // where all are at work, none waits
  }
  Finding finding = accuse(input, Evidence::kOwnStall);
  finding.at_most(Confidence::kLikely);
  const auto first = work_of(input.view, input.rank(ranks.front()));
  const bool own = first.has_value();
  if (own && (first->loop.children > 0 || first->loop.sleeps_ms > 0)) {
    finding.at_most(Confidence::kPossible);  // it may try one thing again and again
  }
  finding.summary =
      (own ? sentence : sentence_of_end)(input, ranks, [&input](const RankView& rank) {
        const auto work = work_of(input.view, rank);
        std::string words = "is at work";
        if (work) {
          words += fmt::format(" in {} ({}): {}", work->loop.function, work->loop.place,
                               work_words(work->loop));
        }
        return work && work->worker != nullptr
                   ? fmt::format("waits for its {} pid {}, which {}",
                                 child_words(input.view, *work->worker), work->worker->pid, words)
                   : words;
      });
  const RankView& end = input.end(ranks.front()).view();
  finding.advice = {
      "let it work; give the others a longer timeout than its loop takes, or a part of the work",
      on_live(end, fmt::format("oddrank node {}  (does it come to an end?)", end.pid()))};
  finding.disproves = {"the loop standing still in later samples"};
  return {finding};
}

}  // namespace oddrank::aggregate
