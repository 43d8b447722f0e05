// The evidence decides nothing. Says what is known and what is missing, and names no rank.
#include <algorithm>

#include <fmt/format.h>

#include "aggregate/evidence/server_waits.h"
#include "aggregate/evidence/wait_chain.h"
#include "aggregate/flight/flight_words.h"
#include "aggregate/rules/all_rules.h"
#include "base/printable.h"

namespace oddrank::aggregate {
namespace {

std::string unread_words(const RuleInput& input,
                         const std::vector<std::size_t>& waiters,
                         const std::string& in,
                         const std::vector<std::size_t>& unread) {
  const RankView& first = input.rank(unread.front());
  return fmt::format("{} wait{}{} for {}, of which nothing is known ({}{})",
                     ranks_words(input, waiters), waiters.size() == 1 ? "s" : "", in,
                     ranks_words(input, unread), first.host.empty() ? "" : first.host + ": ",
                     first.why.empty() ? "not read" : first.why);
}

// Describes the largest wait that leads to ranks which were not read; returns whether there is one.
bool waits_for_unread(const RuleInput& input, std::string& summary) {
  for (const Slot& slot : input.graph.slots) {
    std::vector<std::size_t> unread;
    std::ranges::copy_if(slot.absent, std::back_inserter(unread), [&input](std::size_t at) {
      return input.rank(at).presence == Presence::kUnread ||
             input.rank(at).presence == Presence::kPartial;
    });
    if (unread.empty()) {
      continue;
    }
    summary = unread_words(input, slot.inside, " in " + slot.words, unread);
    return true;
  }
  return false;
}

// Returns the rendezvous that all ranks have reached, or null.
const Slot* common_rendezvous(const RuleInput& input) {
  const auto at = std::ranges::find_if(input.graph.slots, [&input](const Slot& slot) {
    return slot.kind == snapshot::CallKind::kRendezvous && input.view.ranks().size() > 1 &&
           slot.inside.size() == input.view.ranks().size();
  });
  return at == input.graph.slots.end() ? nullptr : &*at;
}

// Returns that ranks wait for one that was not read, or that may be idle; "" if none is known to.
std::string unanswering_words(const RuleInput& input) {
  const Solution& solution = input.blame.solution;
  for (CauseId id = 0; id < solution.causes.size(); ++id) {
    const std::size_t root = solution.causes[id].nodes.front();
    const bool unread = root < input.view.ranks().size() && input.blame.needed[id] > 0 &&
                        input.rank(root).presence == Presence::kUnread;
    const auto waiters =
        unread ? solution.waiters(id, input.view.ranks().size()) : std::vector<std::size_t>();
    if (!waiters.empty()) {
      return unread_words(input, waiters, "", {root});  // of a transfer, say
    }
  }
  for (std::size_t at = 0; at < input.view.ranks().size(); ++at) {
    if (input.graph.awaited[at] && may_be_idle(input.view, input.graph.slots, at)) {
      return fmt::format(
          "{} only waits for requests: it is idle, if it is a server that has no work; or it waits "
          "for a process outside this job",
          JobView::name(input.rank(at)));
    }
  }
  return {};
}

std::string describe(const RuleInput& input) {
  std::string summary;
  const std::size_t total = input.view.expected();
  if (total == 0) {
    return "no rank was found";
  }
  if (input.view.only_recorded()) {
    const bool any = input.view.flight()->job.has_calls();
    return any ? flight_words(*input.view.flight()) : "the dumps hold no calls";
  }
  if (waits_for_unread(input, summary)) {
    return summary;
  }
  const std::size_t read = input.view.count(Presence::kRead);
  if (read == 0) {
    return fmt::format("none of {} could be read", count_of(total, input.view.unit()));
  }
  for (const Slot& slot : input.graph.slots) {
    if (slot.membership == Membership::kUnknown && slot.inside.size() < total) {
      return fmt::format("{} wait{} in {}: who its members are is not known",
                         ranks_words(input, slot.inside), slot.inside.size() == 1 ? "s" : "",
                         slot.words);
    }
  }
  const bool measured = std::ranges::any_of(
      input.view.ranks(), [](const RankView& rank) { return rank.motion.measured; });
  if (!measured) {
    return fmt::format("{} read once: one sample cannot tell stuck from slow",
                       count_of(read, input.view.unit()));
  }
  if (const Slot* slot = common_rendezvous(input)) {
    return fmt::format(
        "all {} are in the {}, and it does not end: it waits for more ranks than there are, or "
        "they have come to different stores, or under different names",
        count_of(total, input.view.unit()), slot->words);
  }
  if (std::string awaited = unanswering_words(input); !awaited.empty()) {
    return awaited;
  }
  return fmt::format("{} read, and nothing shows that {}", count_of(read, input.view.unit()),
                     read == 1 ? "it waits for another one" : "they wait for one of them");
}

}  // namespace

std::vector<Finding> unknown(const RuleInput& input) {
  Finding finding;
  finding.kind = Kind::kUnknown;
  finding.confidence = Confidence::kNone;
  finding.summary = describe(input);
  for (const Slot& slot : input.graph.slots) {
    if (!slot.absent.empty()) {
      finding.chain = chain_to(input.view, input.graph, slot.absent.front());
      break;
    }
  }
  for (std::size_t at = 0; finding.chain.empty() && at < input.view.ranks().size(); ++at) {
    if (input.graph.awaited[at] && !input.graph.waits[at]) {
      finding.chain = chain_to(input.view, input.graph, at);
    }
  }
  if (input.view.only_recorded()) {
    return {finding};
  }
  if (input.unread) {
    finding.advice.emplace_back("read the missing ranks: oddrank node, on their nodes", "", true);
  }
  if (common_rendezvous(input) != nullptr) {
    finding.advice.emplace_back("compare WORLD_SIZE, MASTER_ADDR and MASTER_PORT of all ranks");
  }
  if (input.view.count(Presence::kRead) > 0) {
    finding.advice.emplace_back("sample longer: --samples 4 --interval 5s", "", true);
  }
  finding.advice.emplace_back("keep the evidence: --save job.capture, then oddrank report");
  return {finding};
}

}  // namespace oddrank::aggregate
