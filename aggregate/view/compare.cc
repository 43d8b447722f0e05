#include "aggregate/view/compare.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <tuple>

#include <fmt/format.h>

#include "aggregate/view/job_view.h"
#include "aggregate/words/wait_words.h"
#include "aggregate/words/word_of.h"
#include "base/parse_number.h"
#include "base/printable.h"
#include "snapshot/epochs.h"

namespace oddrank::aggregate {

using snapshot::Capture;

namespace {

// A thread that waits with a time limit wakes, checks and sleeps again: less than a thousandth of
// the time on the CPU does not count as work.
constexpr std::uint64_t kIdleShare = 1000;

struct Side {
  explicit Side(const Capture& capture) : model(capture.tables), view(capture, model) {}

  std::string phase(const RankView& rank) const { return phase_of(view, rank); }

  FrameModel model;
  JobView view;
};

// Uses host and pid only if there is no rank number.
std::tuple<std::int32_t, std::string, pid_t> identity(const RankView& rank) {
  return rank.rank >= 0 ? std::tuple(rank.rank, std::string(), pid_t{0})
                        : std::tuple(-1, rank.host, rank.pid());
}

// Returns "step=1206 -> 1207" for the first counter of the decider's frames that differs; "" if
// none does.
std::string counter_words(const Side& before,
                          const RankView& earlier,
                          const Side& after,
                          const RankView& later) {
  std::map<std::pair<std::uint32_t, std::string_view>, std::string_view> old;
  for (const auto& of_frame : earlier.decider->locals) {
    for (const auto& local : of_frame.locals) {
      old[{of_frame.frame, before.view.text(local.name)}] = before.view.text(local.value);
    }
  }
  for (const auto& of_frame : later.decider->locals) {
    for (const auto& local : of_frame.locals) {
      const std::string_view name = after.view.text(local.name);
      const std::string_view value = after.view.text(local.value);
      const auto at = old.find({of_frame.frame, name});
      if (at != old.end() && at->second != value && parse_number<std::int64_t>(value) &&
          parse_number<std::int64_t>(at->second)) {
        return fmt::format("{}={} -> {}", printable(name), printable(at->second), printable(value));
      }
    }
  }
  return {};
}

struct Found {
  Change change = Change::kUnknown;
  std::string words;
};

bool is_there(const RankView& rank) {
  return rank.presence == Presence::kRead || rank.presence == Presence::kPartial;
}

Found same_place(Side& before,
                 const RankView& earlier,
                 Side& after,
                 const RankView& later,
                 std::uint64_t apart_us) {
  const auto& old_call = earlier.decider->call;
  const auto& call = later.decider->call;
  if (old_call && call && old_call->sequence >= 0 && call->sequence > old_call->sequence) {
    return {Change::kRound, "at the same place in a later call"};
  }
  if (const std::string counter = counter_words(before, earlier, after, later); !counter.empty()) {
    return {Change::kRound, "at the same place, a round later: " + counter};
  }
  if (snapshot::ran_between(*earlier.sample(), *later.sample()).cpu_us > apart_us / kIdleShare) {
    return {Change::kRan, "at the same place, and ran in between"};
  }
  return {Change::kStill, "stood still (same place, next to no CPU time)"};
}

Found find_change(Side& before,
                  const RankView* earlier,
                  Side& after,
                  const RankView* later,
                  std::uint64_t apart_us) {
  const bool was = earlier != nullptr && is_there(*earlier);
  const bool is = later != nullptr && is_there(*later);
  if (was && !is && later != nullptr &&
      (later->presence == Presence::kAbsent || later->presence == Presence::kDead)) {
    return {Change::kGone, "gone since"};
  }
  if (earlier == nullptr && is) {
    return {Change::kNew, "not there before"};
  }
  if (!was || !is || earlier->decider == nullptr || later->decider == nullptr ||
      earlier->sample() == nullptr || later->sample() == nullptr) {
    return {Change::kUnknown, "not read both times"};
  }
  if (earlier->pid() != later->pid() || earlier->process->start_us != later->process->start_us) {
    return {Change::kRestarted, "another process now"};
  }
  const Reach reach =
      std::min(before.model.reach(*earlier->sample()), after.model.reach(*later->sample()));
  const std::string old_place = before.model.place(*earlier->sample(), reach);
  const std::string place = after.model.place(*later->sample(), reach);
  if (old_place.empty() || place.empty()) {
    return {Change::kUnknown, "not read both times"};
  }
  if (old_place != place || earlier->decider->tid != later->decider->tid) {
    return {Change::kElsewhere,
            fmt::format("elsewhere: {}, before {}", after.phase(*later), before.phase(*earlier))};
  }
  return same_place(before, *earlier, after, *later, apart_us);
}

}  // namespace

std::string_view change_name(Change change) {
  constexpr std::array<std::string_view, 8> kNames = {"still",     "ran",  "round", "elsewhere",
                                                      "restarted", "gone", "new",   "unknown"};
  return word_of(kNames, change);
}

Comparison compare_captures(const Capture& earlier, const Capture& later) {
  Side before(earlier);
  Side after(later);
  Comparison comparison;
  const std::uint64_t now_us = snapshot::began_us(later).value_or(0);
  comparison.apart_us = now_us - std::min(now_us, snapshot::began_us(earlier).value_or(0));
  std::map<std::tuple<std::int32_t, std::string, pid_t>,
           std::pair<const RankView*, const RankView*>>
      pairs;
  for (const RankView& rank : before.view.ranks()) {
    pairs[identity(rank)].first = &rank;
  }
  for (const RankView& rank : after.view.ranks()) {
    pairs[identity(rank)].second = &rank;
  }
  std::map<std::pair<Change, std::string>, ChangedRanks> changes;
  for (const auto& [who, pair] : pairs) {
    const Found found = find_change(before, pair.first, after, pair.second, comparison.apart_us);
    ChangedRanks& row = changes[{found.change, found.words}];
    row.change = found.change;
    row.words = found.words;
    ++row.count;
    if (std::get<0>(who) >= 0) {
      row.ranks.push_back(std::get<0>(who));
    }
  }
  for (auto& entry : changes) {
    comparison.changes.push_back(std::move(entry.second));
  }
  std::ranges::stable_sort(comparison.changes, [](const ChangedRanks& a, const ChangedRanks& b) {
    return std::tuple(a.change, b.count) < std::tuple(b.change, a.count);
  });
  return comparison;
}

}  // namespace oddrank::aggregate
