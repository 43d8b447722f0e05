#include "aggregate/view/plain_locals.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/parse_number.h"
#include "base/printable.h"

namespace oddrank::aggregate {
namespace {

constexpr std::size_t kValueWidth = 40;

bool is_plain(std::string_view value) {
  if (value.empty()) {
    return false;
  }
  const char first = value.front();
  return (first >= '0' && first <= '9') || first == '-' || first == '\'' || value == "True" ||
         value == "False" || value == "None" || value == "inf" || value == "nan";
}

// Names of variables that differ on every rank: what a launcher gives each, handles, and clocks.
bool differs_by_rank(std::string_view name) {
  constexpr std::array<std::string_view, 7> kWords = {"rank", "pid",  "port",  "device",
                                                      "gpu",  "seed", "handle"};
  return name == "fd" || name.ends_with("_fd") || name.ends_with("time") ||
         std::ranges::any_of(kWords, [name](std::string_view word) {
           return name.find(word) != std::string_view::npos;
         });
}

// Subtracts with wrap-around: a target may have written any number.
std::uint64_t distance(const RankNumber& one) {
  return static_cast<std::uint64_t>(one.number) - static_cast<std::uint64_t>(one.rank);
}

// Returns whether every number is rank / stride, counted from 0 again after `places` (0: never).
bool is_place(const std::vector<RankNumber>& numbers, std::size_t stride, std::size_t places) {
  return std::ranges::all_of(numbers, [stride, places](const RankNumber& one) {
    const std::size_t place = static_cast<std::size_t>(one.rank) / stride;
    return one.number >= 0 &&
           static_cast<std::size_t>(one.number) == (places == 0 ? place : place % places);
  });
}

}  // namespace

Variable PlainLocals::variable_of(const PlainLocal& local) const {
  const Activation& frame = *local.frame;
  return {frame.function, frame.file, frame.number, printable(view_.text(local.name), kValueWidth)};
}

std::string PlainLocals::value_of(const PlainLocal& local) const {
  return printable(view_.text(local.value), kValueWidth);
}

std::optional<std::int64_t> PlainLocals::number_of(const PlainLocal& local) const {
  return parse_number<std::int64_t>(value_of(local));
}

bool PlainLocals::is_meant_to_differ(snapshot::StringId name) {
  const auto [at, is_new] = meant_to_differ_.try_emplace(name);
  if (is_new) {
    at->second = differs_by_rank(printable(view_.text(name), kValueWidth));
  }
  return at->second;
}

const std::vector<Activation>& PlainLocals::activations(snapshot::StackId stack) {
  const auto [at, is_new] = activations_.try_emplace(stack);
  std::vector<Activation>& frames = at->second;
  if (!is_new) {
    return frames;
  }
  for (const snapshot::FrameId id : view_.capture().tables.stacks()[stack].frames) {
    const ShownFrame frame = view_.model().shown(id);
    const bool waits = view_.model().tells(id, Story::kWaits) != nullptr;
    frames.push_back({frame.name, frame.file, frame.place(), 0, waits});
  }
  std::map<std::pair<std::string, std::string>, std::size_t> seen;
  for (std::size_t left = frames.size(); left > 0; --left) {  // the outermost is the last
    Activation& frame = frames[left - 1];
    frame.number = seen[{frame.function, frame.file}]++;
  }
  return frames;
}

const std::vector<PlainLocal>& PlainLocals::of(const RankView& rank) {
  found_.clear();
  const auto* sample = rank.sample();
  if (rank.decider == nullptr || sample == nullptr || rank.rank < 0) {
    return found_;
  }
  const auto& frames = activations(sample->python_frames());
  rows_.clear();
  for (const snapshot::FrameLocals& row : rank.decider->locals) {
    rows_.push_back(&row);
  }
  std::ranges::sort(rows_, [](const auto* a, const auto* b) { return a->frame > b->frame; });
  for (const snapshot::FrameLocals* each : rows_) {
    const snapshot::FrameLocals& row = *each;
    if (row.frame >= frames.size() || frames[row.frame].waits) {
      continue;
    }
    for (std::size_t i = 0; i < row.locals.size(); ++i) {
      const auto& [name, value] = row.locals[i];
      if (!is_meant_to_differ(name) && is_plain(view_.text(value))) {
        found_.push_back({&frames[row.frame], name, value, row.frame, i});
      }
    }
  }
  return found_;
}

bool follows_rank(const std::vector<RankNumber>& numbers, std::size_t world) {
  if (numbers.size() < 2 ||
      std::ranges::any_of(numbers, [](const RankNumber& one) { return one.rank < 0; })) {
    return false;
  }
  const bool as_far = std::ranges::all_of(numbers, [&numbers](const RankNumber& one) {
    return distance(one) == distance(numbers.front());
  });
  // With two ranks, an equal distance may be chance, unless it is 0.
  if (as_far && (numbers.size() > 2 || distance(numbers.front()) == 0)) {
    return true;
  }
  const auto by_number = [](const RankNumber& a, const RankNumber& b) {
    return a.number < b.number;
  };
  const auto [lowest, highest] = std::ranges::minmax_element(numbers, by_number);
  if (lowest->number == highest->number || lowest->number < 0 ||
      static_cast<std::uint64_t>(highest->number) >= world) {
    return false;
  }
  const auto places = static_cast<std::size_t>(highest->number) + 1;
  for (std::size_t stride = 1; stride <= world; ++stride) {
    if (world % stride == 0 &&
        (is_place(numbers, stride, 0) || is_place(numbers, stride, places))) {
      return true;
    }
  }
  return false;
}

}  // namespace oddrank::aggregate
