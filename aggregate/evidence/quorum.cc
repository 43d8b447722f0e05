#include "aggregate/evidence/quorum.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "aggregate/view/rank_set.h"
#include "base/parse_number.h"
#include "base/span_words.h"
#include "base/split.h"

namespace oddrank::aggregate {
namespace {

// Returns the value of "--name value" or "--name=value"; "" if it is not there.
std::string_view option_in(std::string_view command, std::string_view name) {
  bool next = false;
  for (std::string_view word : split_blanks(command)) {
    if (next) {
      return word;
    }
    if (word.starts_with(name)) {
      word.remove_prefix(name.size());
      next = word.empty();
      if (word.starts_with('=')) {
        return word.substr(1);
      }
    }
  }
  return {};
}

}  // namespace

std::size_t lighthouse_of(const JobView& view, const Slot& slot) {
  const snapshot::StringId job = view.rank(slot.inside.front()).process->job_key;
  const auto found = std::ranges::find_if(view.ranks(), [job](const RankView& rank) {
    return rank.rank < 0 && rank.presence != Presence::kUnread && rank.process != nullptr &&
           rank.process->role == snapshot::JobRole::kServer && rank.process->job_key == job;
  });
  return found == view.ranks().end() ? JobView::kNone
                                     : static_cast<std::size_t>(found - view.ranks().begin());
}

std::optional<WaitingQuorum> waiting_quorum(const JobView& view, const std::vector<Slot>& slots) {
  const auto slot = std::ranges::find_if(slots, [](const Slot& one) {
    return one.of_lighthouse && one.op == "quorum" && one.absent.empty() && is_clear(one);
  });
  const std::size_t at = slot == slots.end() ? JobView::kNone : lighthouse_of(view, *slot);
  if (at == JobView::kNone || view.rank(at).presence != Presence::kRead ||
      view.rank(at).stays_stopped()) {
    return std::nullopt;
  }
  WaitingQuorum quorum{&*slot};
  std::set<snapshot::StringId> replicas;
  for (const std::size_t rank : slot->inside) {
    replicas.insert(view.rank(rank).process->replica);
    if (view.rank(rank).decider != nullptr) {
      quorum.wait_ms = std::max(quorum.wait_ms, view.rank(rank).decider->wait.quiet_ms);
    }
  }
  quorum.come = replicas.size();
  const std::string_view command = view.text(view.rank(at).process->command);
  quorum.least = parse_number<std::uint32_t>(option_in(command, "--min_replicas")).value_or(0);
  return quorum.come < quorum.least ? std::optional(quorum) : std::nullopt;
}

std::string quorum_words(const JobView& view, const WaitingQuorum& quorum) {
  const Slot& slot = *quorum.slot;
  const RankView& first = view.rank(slot.inside.front());
  return fmt::format(
      "{} {} waited for {} in {}, to which {} of at least {} replicas {} come",
      slot.inside.size() == 1 ? JobView::name(first) : ranks_phrase(view.numbers_of(slot.inside)),
      slot.inside.size() == 1 ? "has" : "have",
      span_words(std::chrono::milliseconds(quorum.wait_ms)), slot.words, quorum.come, quorum.least,
      quorum.come == 1 ? "has" : "have");
}

}  // namespace oddrank::aggregate
