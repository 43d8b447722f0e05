#include "aggregate/evidence/named_rank.h"

#include <algorithm>

#include "aggregate/frames/frame_model.h"
#include "aggregate/view/polling.h"
#include "base/parse_number.h"

namespace oddrank::aggregate {

using snapshot::PollOn;

namespace {

// Returns the part of a path that may tell one rank's file from another's: the last component that
// has a number. Folders above it have numbers of jobs, runs and days. Keys of stores are taken
// whole.
std::string_view telling_part(std::string_view name) {
  constexpr std::string_view kDigits = "0123456789";
  const std::size_t digit = name.find_last_of(kDigits);
  if (!name.starts_with('/') || digit == std::string_view::npos) {
    return name;
  }
  const std::size_t begin = name.rfind('/', digit) + 1;
  return name.substr(begin, name.find('/', digit) - begin);
}

}  // namespace

std::set<std::size_t> named_ranks(const JobView& view, std::string_view name, std::int32_t first) {
  std::set<std::size_t> found;
  name = telling_part(name);
  while (!name.empty()) {
    const std::size_t end = std::min(name.find_first_of("/._-: "), name.size());
    std::string_view part = name.substr(0, end);
    name.remove_prefix(std::min(end + 1, name.size()));
    for (const std::string_view word : {"rank", "worker"}) {
      part.remove_prefix(part.starts_with(word) ? word.size() : 0);
    }
    const auto number = parse_number<std::int32_t>(part);
    const std::size_t rank = number ? view.index_of(*number + first) : JobView::kNone;
    if (rank != JobView::kNone) {
      found.insert(rank);
    }
  }
  return found;
}

std::string awaited_name(const JobView& view, const RankView& rank) {
  if (rank.sample() == nullptr || rank.decider->call) {
    return {};
  }
  if (view.model().story(*rank.sample(), Story::kStore)) {
    return std::string(view.text(rank.decider->wait.rare->key));
  }
  const bool named =
      rank.polls == PollOn::kUnknown || rank.polls == PollOn::kKey || rank.polls == PollOn::kFile;
  const auto poll = named ? poll_of(view, *rank.decider) : std::nullopt;
  return poll ? poll->object : std::string();
}

}  // namespace oddrank::aggregate
