#include "report/html/html_timeline.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "aggregate/view/groups.h"
#include "aggregate/view/rank_set.h"
#include "aggregate/words/wait_words.h"
#include "base/printable.h"
#include "report/json_values.h"

namespace oddrank::report {
namespace {

using aggregate::RankView;
using snapshot::ThreadSample;

// Rows shown at most if every rank does something different.
constexpr std::size_t kMaxRows = 200;
constexpr std::size_t kMaxSamplesShown = 12;

struct TimelineRange {
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t most = 0;

  void add(std::uint64_t value);
};

void TimelineRange::add(std::uint64_t value) {
  least = std::min(least, value);
  most = std::max(most, value);
}

// Where ranks were, as an index into Timeline::places_, and the class of their state.
using TimelineWay = std::vector<std::pair<std::size_t, char>>;

struct TimelineRow {
  TimelineWay way;
  std::int64_t group = -1;
  bool moved = false;                // it was elsewhere, or in another state, in one of its samples
  std::vector<std::size_t> ranks;    // indices of JobView::ranks(), ascending
  std::vector<std::string> states;   // by sample: letters of the ranks, each once
  std::vector<TimelineRange> cpu;    // microseconds; by step between two samples
  std::vector<TimelineRange> wakes;  // voluntary context switches
};

class Timeline {
 public:
  Timeline(const aggregate::JobView& view, HtmlTables& tables) : view_(view), tables_(tables) {}

  void add(std::size_t rank, std::int64_t group);
  Json take();

 private:
  std::size_t place_of(const ThreadSample& sample);
  bool is_moved(const TimelineWay& way) const;
  // Names the program's own frame, which is the most telling one, and the last call in it.
  std::string words_of(const ThreadSample& sample) const;

  // Columns: ranks, count, number of the first in `ranks`, moved, samples, steps between samples.
  Json row_json(const TimelineRow& row);
  // Sends only the places that a row refers to. Columns: stack, words.
  std::size_t sent_place(std::size_t place);

  const aggregate::JobView& view_;
  HtmlTables& tables_;
  std::size_t samples_ = 0;                      // the largest number of samples of a rank
  std::vector<const ThreadSample*> places_;      // one that was there
  std::map<std::string, std::size_t> place_of_;  // by the key of the folded stack
  std::vector<TimelineRow> rows_;
  std::map<std::pair<std::string, TimelineWay>, std::size_t> row_of_;
  std::map<std::size_t, std::size_t> sent_;
  Json sent_places_ = Json::array();
};

void Timeline::add(std::size_t rank, std::int64_t group) {
  const RankView& one = view_.ranks()[rank];
  if (one.sample() == nullptr) {
    return;
  }
  const auto& samples = one.decider->samples;
  samples_ = std::max(samples_, samples.size());
  const std::size_t first = samples.size() - std::min(samples.size(), kMaxSamplesShown);
  TimelineWay way;
  for (std::size_t at = first; at < samples.size(); ++at) {
    way.emplace_back(place_of(samples[at]), aggregate::state_class(samples[at].state));
  }
  const auto [known, is_new] =
      row_of_.try_emplace({aggregate::phase_of(view_, one), way}, rows_.size());
  if (is_new) {
    TimelineRow& row = rows_.emplace_back();
    row.group = group;
    row.moved = is_moved(way);
    row.states.resize(way.size());
    row.cpu.resize(way.size() - 1);
    row.wakes.resize(way.size() - 1);
    row.way = std::move(way);
  }
  TimelineRow& row = rows_[known->second];
  row.ranks.push_back(rank);
  for (std::size_t at = first; at < samples.size(); ++at) {
    std::string& states = row.states[at - first];
    if (states.find(samples[at].state) == std::string::npos) {
      states += samples[at].state;
    }
    if (at > first) {
      const snapshot::Ran ran = snapshot::ran_between(samples[at - 1], samples[at]);
      row.cpu[at - first - 1].add(ran.cpu_us);
      row.wakes[at - first - 1].add(ran.wakes);
    }
  }
}

std::size_t Timeline::place_of(const ThreadSample& sample) {
  const auto [at, is_new] = place_of_.try_emplace(view_.model().fold(sample).key, places_.size());
  if (is_new) {
    places_.push_back(&sample);
  }
  return at->second;
}

bool Timeline::is_moved(const TimelineWay& way) const {
  std::optional<std::size_t> before;
  for (const auto& [place, state] : way) {
    // A sample in which no stack could be read shows no motion.
    const bool read = !view_.model().fold(*places_[place]).frames.empty();
    if (state != way.front().second || (read && before && *before != place)) {
      return true;
    }
    before = read ? std::optional(place) : before;
  }
  return false;
}

std::string Timeline::words_of(const ThreadSample& sample) const {
  const aggregate::FoldedStack& stack = view_.model().fold(sample);
  if (stack.frames.empty()) {
    return {};
  }
  const aggregate::ShownFrame& inner = stack.frames.front();
  const auto own = view_.model().user_frame(sample);
  if (!own || (own->name == inner.name && own->place() == inner.place())) {
    return fmt::format("{} ({})", inner.name, inner.place());
  }
  return fmt::format("{} ({}), in {}", own->name, own->place(), inner.name);
}

Json Timeline::take() {
  std::stable_sort(rows_.begin(), rows_.end(), [](const TimelineRow& a, const TimelineRow& b) {
    return std::tuple(a.group, a.moved, b.ranks.size()) <
           std::tuple(b.group, b.moved, a.ranks.size());
  });
  std::size_t read = 0;   // ranks
  std::size_t moved = 0;  // the same
  std::size_t left = 0;   // the same, in rows that are not sent
  bool equal = true;      // no rank moved, used any CPU or woke
  for (const TimelineRow& row : rows_) {
    read += row.ranks.size();
    moved += row.moved ? row.ranks.size() : 0;
    const auto is_none = [](const TimelineRange& range) { return range.most == 0; };
    equal = equal && !row.moved && std::all_of(row.cpu.begin(), row.cpu.end(), is_none) &&
            std::all_of(row.wakes.begin(), row.wakes.end(), is_none);
  }
  Json shown = Json::array();
  for (const TimelineRow& row : rows_) {
    if (samples_ > 1 && !equal && shown.size() < kMaxRows) {
      shown.push_back(row_json(row));
    } else if (!shown.empty()) {
      left += row.ranks.size();
    }
  }
  return {{"samples", samples_},
          {"read", read},
          {"moved", moved},
          {"equal", equal},
          {"rows", std::move(shown)},
          {"places", std::move(sent_places_)},
          {"left", left}};
}

Json Timeline::row_json(const TimelineRow& row) {
  Json samples = Json::array();
  for (std::size_t at = 0; at < row.way.size(); ++at) {
    samples.push_back({sent_place(row.way[at].first), row.states[at]});
  }
  // Columns: least and most CPU time in microseconds, least and most wake-ups.
  Json steps = Json::array();
  for (std::size_t at = 0; at < row.cpu.size(); ++at) {
    steps.push_back({row.cpu[at].least, row.cpu[at].most, row.wakes[at].least, row.wakes[at].most});
  }
  std::vector<std::int32_t> numbers;
  for (const std::size_t rank : row.ranks) {
    numbers.push_back(view_.ranks()[rank].rank);
  }
  return {aggregate::format_ranks(numbers),
          row.ranks.size(),
          row.ranks.front(),
          row.moved ? 1 : 0,
          std::move(samples),
          std::move(steps)};
}

std::size_t Timeline::sent_place(std::size_t place) {
  const auto [known, is_new] = sent_.try_emplace(place, sent_places_.size());
  if (is_new) {
    const ThreadSample& sample = *places_[place];
    sent_places_.push_back({tables_.stack(sample), tables_.text(printable(words_of(sample)))});
  }
  return known->second;
}

}  // namespace

std::string html_timeline(const aggregate::JobView& view,
                          const std::vector<std::int64_t>& group_of_rank,
                          HtmlTables& tables) {
  Timeline timeline(view, tables);
  for (std::size_t rank = 0; rank < view.ranks().size(); ++rank) {
    timeline.add(rank, group_of_rank[rank]);
  }
  return json_text({{"timeline", timeline.take()}});
}

}  // namespace oddrank::report
