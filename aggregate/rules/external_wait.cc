// The culprit waits for an answer from outside of the job: for a socket whose other end is no
// process of the job. Either a library that talks to services is on the stack, or (no more than
// possible) every rank was read and none has the other end. Or it waits for resources that the
// cluster lacks, or that idle processes of the job have.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "aggregate/blame/local_story.h"
#include "aggregate/rules/all_rules.h"
#include "aggregate/words/resource_words.h"
#include "aggregate/words/wait_sentence.h"
#include "aggregate/words/wait_words.h"
#include "base/printable.h"

namespace oddrank::aggregate {
namespace {

// Returns "TCP to 10.0.0.9:443, nothing received for 64 s, over TLS"; without an address, the
// wait's own words.
std::string peer_words(const JobView& view, const RankView& rank) {
  const WaitsFor wait = waits_for(view, rank);
  const std::string address = printable(view.text(rank.decider->wait.rare->peer), 80);
  std::string words = address.empty() ? wait.detail : "TCP to " + address;
  const auto& files = rank.decider->wait.rare->awaited;
  if (!address.empty() && !files.empty()) {
    words += received_words(files.front()) + tls_words(files.front());
  }
  return wait.pid != 0 && !address.empty() ? fmt::format("{}, pid {}", words, wait.pid) : words;
}

// Returns that the rank waits for input at a terminal, or for its output to be read there.
std::string terminal_words(const JobView& view, const RankView& rank) {
  const std::string path = waits_for(view, rank).path;
  return is_writing(view, rank.decider->wait)
             ? fmt::format(
                   "writes to the terminal {}, which is full: it is stopped (Ctrl-S), or "
                   "nobody reads what it shows",
                   path)
             : "waits for somebody to type at " + path;
}

// A request that has just become pending may be granted yet, or be granted already.
bool will_be_pending(const snapshot::ResourceRequest& request) {
  constexpr std::int64_t kLongPendingMs = 30'000;
  return request.asked > request.total || request.pending_ms >= kLongPendingMs;
}

Finding wait_for_resources(const RuleInput& input,
                           const std::vector<std::size_t>& ranks,
                           Finding finding) {
  const RankView& first = input.rank(ranks.front());
  const snapshot::ResourceRequest& request = *first.wants.front();
  const bool sure =
      will_be_pending(request) && (first.caller->wait.rare->asked.known || request.is_group);
  if (!sure) {
    finding.at_most(Confidence::kPossible);
  }
  finding.summary = sentence(input, ranks, [&input](const RankView& rank) {
    return fmt::format("waits for {}: {}", resources_words(input.view, rank),
                       shortage_words(input.view, rank));
  });
  finding.advice = {on(first, "ray status -v  (what is asked for, and what there is)"),
                    "ask for less, end actors that have what is missing, or add nodes"};
  finding.disproves = {"the request being granted"};
  finding.weakness = "it may wait for something else than this request";
  return finding;
}

}  // namespace

std::vector<Finding> external_wait(const RuleInput& input) {
  const std::vector<std::size_t>& ranks = input.with_story;
  Finding finding = accuse(input, Evidence::kOwnStall);
  if (finding.confidence > Confidence::kLikely) {
    finding.confidence = Confidence::kLikely;  // only file names show that the peer is outside
  }
  if (input.rank(ranks.front()).lacks_resources()) {
    return {wait_for_resources(input, ranks, std::move(finding))};
  }
  const RankView& first = input.end(ranks.front()).view();
  if (!input.view.model().story(*first.sample(), Story::kExternal) &&
      !waits_at_terminal(input.view, first)) {
    finding.at_most(Confidence::kPossible);
  }
  finding.summary = sentence_of_end(input, ranks, [&input](const RankView& rank) {
    if (waits_at_terminal(input.view, rank)) {
      return terminal_words(input.view, rank);
    }
    const auto hit = input.view.model().story(*rank.sample(), Story::kExternal);
    const std::string peer = peer_words(input.view, rank);
    return fmt::format("waits for {}{}", hit ? hit->pattern->words : "an answer from outside",
                       peer.empty() ? "" : " (" + peer + ")");
  });
  if (waits_at_terminal(input.view, first)) {
    finding.advice = {on(first, fmt::format("fuser -v {}  (who has this terminal)",
                                            waits_for(input.view, first).path)),
                      "start jobs without a terminal: < /dev/null, and output into a file"};
    finding.disproves = {"somebody who types or reads there"};
    finding.weakness = "somebody may be about to";
    return {finding};
  }
  finding.advice = {on_live(first, fmt::format("ss -tnpi | grep pid={}", first.pid())),
                    "set a timeout and retries on this request, or do it on all ranks"};
  finding.disproves = {"bytes that arrive on this socket"};
  finding.weakness = "the answer may be on its way";
  return {finding};
}

}  // namespace oddrank::aggregate
