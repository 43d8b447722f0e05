#include "aggregate/view/timeline.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>

namespace oddrank::aggregate {
namespace {

using snapshot::ThreadSample;

class TimelineBuilder {
 public:
  explicit TimelineBuilder(const JobView& view) : view_(view) {}

  void add(std::size_t rank, std::size_t group);
  Timeline take();

 private:
  TimelineRow new_row(std::size_t group,
                      const std::vector<std::pair<std::size_t, char>>& way) const;

  std::size_t place_of(const ThreadSample& sample);

  // Names the program's own frame, which is the most telling one, and the last call in it.
  std::string words_of(const ThreadSample& sample, const FoldedStack& stack) const;

  const JobView& view_;
  Timeline timeline_;
  std::map<std::string, std::size_t> place_of_;  // by the key of the folded stack
  std::map<std::pair<std::size_t, std::vector<std::pair<std::size_t, char>>>, std::size_t> row_of_;
};

void TimelineBuilder::add(std::size_t rank, std::size_t group) {
  const auto* decider = view_.ranks()[rank].decider;
  if (decider == nullptr || decider->samples.empty()) {
    return;
  }
  const auto& samples = decider->samples;
  timeline_.samples = std::max(timeline_.samples, samples.size());
  const std::size_t first = samples.size() - std::min(samples.size(), Timeline::kMaxSamplesShown);
  // Places and states: ranks of a group are equal if these are.
  std::vector<std::pair<std::size_t, char>> way;
  for (std::size_t at = first; at < samples.size(); ++at) {
    way.emplace_back(place_of(samples[at]), state_class(samples[at].state));
  }
  const auto [known, is_new] = row_of_.try_emplace({group, way}, timeline_.rows.size());
  if (is_new) {
    timeline_.rows.push_back(new_row(group, way));
  }
  TimelineRow& row = timeline_.rows[known->second];
  row.ranks.push_back(rank);
  for (std::size_t at = first; at < samples.size(); ++at) {
    std::string& states = row.samples[at - first].states;
    if (states.find(samples[at].state) == std::string::npos) {
      states += samples[at].state;
    }
    if (at > first) {
      TimelineStep& step = row.steps[at - first - 1];
      const snapshot::Ran ran = snapshot::ran_between(samples[at - 1], samples[at]);
      step.cpu_us.add(ran.cpu_us);
      step.wakes.add(ran.wakes);
    }
  }
}

Timeline TimelineBuilder::take() {
  std::stable_sort(timeline_.rows.begin(), timeline_.rows.end(),
                   [](const TimelineRow& a, const TimelineRow& b) {
                     return std::tuple(a.group, a.moved, b.ranks.size()) <
                            std::tuple(b.group, b.moved, a.ranks.size());
                   });
  return std::move(timeline_);
}

TimelineRow TimelineBuilder::new_row(std::size_t group,
                                     const std::vector<std::pair<std::size_t, char>>& way) const {
  TimelineRow row;
  row.group = group;
  const TimelinePlace* before = nullptr;
  for (const auto& [place, state] : way) {
    row.samples.push_back({place, ""});
    row.moved = row.moved || state != way.front().second;
    // A sample in which no stack could be read shows no motion.
    const TimelinePlace* here = &timeline_.places[place];
    if (!here->words.empty()) {
      row.moved = row.moved || (before != nullptr && before != here);
      before = here;
    }
  }
  row.steps.resize(way.size() - 1);
  return row;
}

std::size_t TimelineBuilder::place_of(const ThreadSample& sample) {
  const FoldedStack& stack = view_.model().fold(sample);
  const auto [at, is_new] = place_of_.try_emplace(stack.key, timeline_.places.size());
  if (is_new) {
    timeline_.places.push_back({&sample, words_of(sample, stack)});
  }
  return at->second;
}

std::string TimelineBuilder::words_of(const ThreadSample& sample, const FoldedStack& stack) const {
  if (stack.frames.empty()) {
    return {};
  }
  const ShownFrame& inner = stack.frames.front();
  const auto own = view_.model().user_frame(sample);
  if (!own || (own->name == inner.name && own->place() == inner.place())) {
    return fmt::format("{} ({})", inner.name, inner.place());
  }
  return fmt::format("{} ({}), in {}", own->name, own->place(), inner.name);
}

}  // namespace

void TimelineRange::add(std::uint64_t value) {
  least = std::min(least, value);
  most = std::max(most, value);
}

bool Timeline::all_still() const {
  return std::none_of(rows.begin(), rows.end(), [](const TimelineRow& row) { return row.moved; });
}

bool Timeline::all_equal() const {
  return all_still() && std::all_of(rows.begin(), rows.end(), [](const TimelineRow& row) {
           return std::all_of(row.steps.begin(), row.steps.end(), [](const TimelineStep& step) {
             return step.cpu_us.most == 0 && step.wakes.most == 0;
           });
         });
}

Timeline build_timeline(const JobView& view, const std::vector<Group>& groups) {
  TimelineBuilder builder(view);
  for (std::size_t group = 0; group < groups.size(); ++group) {
    for (const std::size_t rank : groups[group].ranks) {
      builder.add(rank, group);
    }
  }
  return builder.take();
}

}  // namespace oddrank::aggregate
