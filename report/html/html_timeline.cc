#include "report/html/html_timeline.h"

#include <algorithm>
#include <map>
#include <utility>

#include "aggregate/view/rank_set.h"
#include "aggregate/view/timeline.h"
#include "base/printable.h"
#include "report/json_values.h"

namespace oddrank::report {
namespace {

// Rows shown at most if every rank does something different.
constexpr std::size_t kMaxRows = 200;

class TimelineData {
 public:
  TimelineData(const aggregate::JobView& view,
               const aggregate::Timeline& timeline,
               HtmlTables& tables)
      : view_(view), timeline_(timeline), tables_(tables) {}

  // Columns: ranks, count, number of the first in `ranks`, moved, samples, steps between samples.
  Json row(const aggregate::TimelineRow& row);

  // Columns: stack, words.
  Json take_places() { return std::move(places_); }

 private:
  // Sends only the places that a row refers to.
  std::size_t place(std::size_t number);

  const aggregate::JobView& view_;
  const aggregate::Timeline& timeline_;
  HtmlTables& tables_;
  std::map<std::size_t, std::size_t> ids_;
  Json places_ = Json::array();
};

Json TimelineData::row(const aggregate::TimelineRow& row) {
  Json samples = Json::array();
  for (const aggregate::TimelineSample& sample : row.samples) {
    samples.push_back({place(sample.place), sample.states});
  }
  // Columns: least and most CPU time in microseconds, least and most wake-ups.
  Json steps = Json::array();
  for (const aggregate::TimelineStep& step : row.steps) {
    steps.push_back({step.cpu_us.least, step.cpu_us.most, step.wakes.least, step.wakes.most});
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

std::size_t TimelineData::place(std::size_t number) {
  const auto [known, is_new] = ids_.try_emplace(number, places_.size());
  if (is_new) {
    const aggregate::TimelinePlace& place = timeline_.places[number];
    places_.push_back({tables_.stack(*place.sample), tables_.text(printable(place.words))});
  }
  return known->second;
}

}  // namespace

std::string html_timeline(const aggregate::JobView& view,
                          const std::vector<std::int64_t>& group_of_rank,
                          HtmlTables& tables) {
  const aggregate::Timeline timeline =
      aggregate::build_timeline(view, aggregate::find_groups(view));
  std::vector<const aggregate::TimelineRow*> rows;
  if (timeline.samples > 1 && !timeline.all_equal()) {
    for (const aggregate::TimelineRow& row : timeline.rows) {
      rows.push_back(&row);
    }
  }
  std::stable_sort(rows.begin(), rows.end(), [&group_of_rank](const auto* a, const auto* b) {
    return group_of_rank[a->ranks.front()] < group_of_rank[b->ranks.front()];
  });
  TimelineData data(view, timeline, tables);
  Json shown = Json::array();
  std::size_t left = 0;   // ranks in rows that are not sent
  std::size_t read = 0;   // ranks
  std::size_t moved = 0;  // ranks that moved
  for (const aggregate::TimelineRow& row : timeline.rows) {
    read += row.ranks.size();
    moved += row.moved ? row.ranks.size() : 0;
  }
  for (std::size_t at = 0; at < rows.size(); ++at) {
    if (at < kMaxRows) {
      shown.push_back(data.row(*rows[at]));
    } else {
      left += rows[at]->ranks.size();
    }
  }
  Json json;
  json["samples"] = timeline.samples;
  json["read"] = read;
  json["moved"] = moved;
  json["equal"] = timeline.all_equal();
  json["rows"] = std::move(shown);
  json["places"] = data.take_places();
  json["left"] = left;
  return json_text({{"timeline", std::move(json)}});
}

}  // namespace oddrank::report
