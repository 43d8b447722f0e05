#include "aggregate/rules/rule.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "aggregate/blame/local_story.h"
#include "aggregate/evidence/odd_devices.h"
#include "aggregate/evidence/wait_chain.h"
#include "aggregate/rules/all_rules.h"
#include "aggregate/view/call_counts.h"
#include "aggregate/view/decider.h"
#include "aggregate/view/quiet_span.h"
#include "aggregate/view/rank_set.h"
#include "aggregate/view/thread_cycle.h"
#include "aggregate/words/wait_words.h"
#include "base/printable.h"

namespace oddrank::aggregate {
namespace {

constexpr std::size_t kMaxCallWords = 200;

bool is_awaited(const RuleInput& input, std::size_t rank) {
  return input.graph.awaited[rank];
}

// Returns "all others (ranks 0-1,3) are in step (train.py:9)": the evidence if no wait leads to the
// only rank that is elsewhere.
std::string others_words(const RuleInput& input, std::size_t rank) {
  std::vector<std::size_t> others;
  std::set<std::string> phases;
  for (std::size_t at = 0; at < input.view.ranks().size(); ++at) {
    if (at != rank) {
      others.push_back(at);
      phases.insert(phase_of(input.view, input.rank(at)));
    }
  }
  if (others.empty()) {
    return {};
  }
  const std::string_view does = others.size() == 1 ? "does" : "do";
  return fmt::format("{} {}", ranks_words(input, others),
                     phases.size() == 1
                         ? fmt::format("{} something else: {}", does, *phases.begin())
                         : std::string("wait, for whom is not known"));
}

// Returns "it has stood still for 41 s, all others for 20 s to 21 s".
std::string quiet_words(const RuleInput& input, std::size_t rank) {
  QuietSpan own;
  QuietSpan others;
  for (std::size_t at = 0; at < input.view.ranks().size(); ++at) {
    (at == rank ? own : others).add(*input.rank(at).decider);
  }
  return fmt::format("it has stood still {}, all others {}", own.words(), others.words());
}

// Returns "core, server and worker (2)"; "" if one has no label, or there are too many.
std::string labels_words(const RuleInput& input, const std::vector<std::size_t>& ranks) {
  constexpr std::size_t kMaxLabelsInWords = 6;
  std::map<std::string_view, std::size_t> counts;
  for (const std::size_t at : ranks) {
    ++counts[input.rank(at).label];
  }
  if (counts.size() > kMaxLabelsInWords || counts.contains("")) {
    return {};
  }
  std::string text;
  for (auto at = counts.begin(); at != counts.end(); ++at) {
    text += at == counts.begin() ? "" : std::next(at) == counts.end() ? " and " : ", ";
    text +=
        at->second == 1 ? std::string(at->first) : fmt::format("{} ({})", at->first, at->second);
  }
  return text;
}

// Returns "train.py (pid 71)", "processes train.py (pids 71,72)", "processes front.py (pid 71), pid
// 72", "processes core, server and worker (2)", "pids 71,72" or "12 processes".
std::string pids_words(const RuleInput& input, const std::vector<std::size_t>& ranks) {
  constexpr std::size_t kMaxTitlesInWords = 3;
  constexpr std::size_t kMaxPidsInWords = 6;
  const std::string labels =
      ranks.size() > kMaxTitlesInWords ? labels_words(input, ranks) : std::string();
  if (ranks.empty() || ranks.size() > kMaxPidsInWords) {
    return labels.empty() ? count_of(ranks.size(), "process") : "processes " + labels;
  }
  std::string titles;
  std::string pids;
  bool titled = false;
  const std::string_view label = input.rank(ranks.front()).label;
  bool alike = !label.empty();
  for (const std::size_t at : ranks) {
    const RankView& rank = input.rank(at);
    titled = titled || !rank.label.empty();
    alike = alike && rank.label == label;
    titles += (titles.empty() ? "" : ", ") + JobView::short_name(rank);
    pids += (pids.empty() ? "" : ",") + std::to_string(rank.pid());
  }
  if (ranks.size() == 1) {
    return titles;
  }
  if (alike) {
    return fmt::format("processes {} (pids {})", label, pids);
  }
  return titled && ranks.size() <= kMaxTitlesInWords ? "processes " + titles
         : labels.empty()                            ? "pids " + pids
                                                     : "processes " + labels;
}

// Returns RuleInput::oldest_wait_ms.
std::int64_t oldest_young_wait(const JobView& view) {
  std::int64_t oldest = -1;
  for (const RankView& rank : view.ranks()) {
    if (rank.decider != nullptr && rank.decider->call) {
      const std::int64_t quiet = rank.decider->wait.quiet_ms;
      if (quiet < 0 || quiet >= snapshot::kOldWaitMs) {
        return -1;
      }
      // A thread that polls has always run just now, but its call may be old.
      const std::int64_t age = std::max(quiet, age_of_call_ms(rank, *rank.decider->call));
      if (age >= snapshot::kOldWaitMs) {
        return -1;
      }
      oldest = std::max(oldest, age);
    }
  }
  return oldest;
}

// Adds the end of the rank's wait, which is not in the rank's own thread.
void take_end(const RuleInput& input, const WaitEnd& end, Finding& finding, WaitsFor& waits) {
  const RankView& last = end.view();
  const bool moves = last.motion.moved() && finding.kind != Kind::kBusyRank;
  if (moves || !last.motion.measured) {
    finding.at_most(Confidence::kPossible);
  } else if (end.is_guessed()) {
    finding.at_most(Confidence::kLikely);
  }
  waits = waits_for(input.view, last);
  if (waits.pid == 0) {
    waits.pid = last.pid();
    waits.tid = last.decider->tid;
  }
}

// Returns whether the rank's call has a number, or a number of its calls was read in two samples.
bool is_counted(const RankView& rank) {
  const auto& call = *rank.decider->call;
  if (call.sequence >= 0) {
    return true;
  }
  const auto& groups = rank.process->groups;
  return std::ranges::any_of(groups, [&call](const snapshot::ProcessGroup& group) {
    return is_group_of(group, call) && std::ranges::any_of(group.counters, [](const auto& counter) {
             return counter.collectives_before >= 0 || counter.transfers_before >= 0;
           });
  });
}

}  // namespace

const FlightJob* RuleInput::recorded() const {
  const FlightFacts* facts = view.flight();
  return facts != nullptr && (view.only_recorded() || is_from_memory(*facts)) ? &facts->job
                                                                              : nullptr;
}

RuleInput make_input(const JobView& view, WaitGraph& graph) {
  RuleInput input{.view = view, .graph = graph};
  std::size_t measured = 0;
  std::size_t moved = 0;
  for (const RankView& rank : view.ranks()) {
    measured += rank.motion.measured ? 1 : 0;
    moved += rank.motion.moved() ? 1 : 0;
    input.anybody_in_call =
        input.anybody_in_call || (rank.decider != nullptr && rank.decider->call);
    input.unread = input.unread || rank.presence == Presence::kUnread ||
                   (rank.presence == Presence::kPartial && rank.state() != 'D');
  }
  input.all_move = measured > 0 && moved == measured;
  input.oldest_wait_ms = oldest_young_wait(view);
  input.may_be_older = std::ranges::any_of(view.ranks(), [](const auto& rank) {
    return rank.decider != nullptr && rank.decider->call && !rank.motion.stack &&
           keeps_waking(*rank.decider);
  });
  input.blame = find_blame(input, graph);
  input.tiers = find_suspects(input);
  return with_suspects(input, input.tiers.front());
}

RuleInput with_suspects(const RuleInput& input, const Suspects& suspects) {
  RuleInput result = input;
  result.about = suspects;
  return result;
}

bool is_minority(const RuleInput& input,
                 std::size_t side,
                 std::size_t other_side,
                 const std::vector<std::size_t>& members) {
  const auto unread = std::ranges::count_if(members, [&input](std::size_t at) {
    const Presence presence = input.rank(at).presence;
    return presence == Presence::kUnread || presence == Presence::kPartial;
  });
  return side + static_cast<std::size_t>(unread) < other_side;
}

// Returns whether the rank was woken between the samples from a wait without a time limit: it got
// something, and now waits for the next. That is no progress of the job, but the rank does not
// stand still either.
bool was_woken(const RankView& rank) {
  if (rank.decider == nullptr || rank.decider->call || !is_at_own_lock(*rank.decider) ||
      rank.decider->samples.size() < 2) {
    return false;
  }
  const auto& samples = rank.decider->samples;
  const auto stops = static_cast<std::uint64_t>(
      std::ranges::count_if(samples, [](const auto& sample) { return sample.stopped; }));
  return snapshot::ran_between(samples.front(), samples.back()).wakes >
         snapshot::kSwitchesOfStop * stops + 1;
}

bool waiters_stand_still(const RuleInput& input, std::size_t rank) {
  const auto& sources = input.graph.in[rank];
  const auto [at, is_new] =
      input.still.try_emplace(std::vector(sources.begin(), sources.end()), true);
  if (!is_new) {
    return at->second;
  }
  std::size_t measured = 0;
  std::size_t still = 0;
  for (const std::size_t waiter : waiters_of(input.graph, rank)) {
    const Motion& motion = input.rank(waiter).motion;
    measured += motion.measured ? 1 : 0;
    still += motion.still() && !was_woken(input.rank(waiter)) ? 1 : 0;
  }
  at->second = still * 2 > measured || measured == 0;
  return at->second;
}

Confidence judge(const RuleInput& input, std::size_t rank, Evidence evidence) {
  const RankView& view = input.rank(rank);
  const bool state = evidence == Evidence::kState;
  Confidence confidence =
      evidence == Evidence::kAbsence ? Confidence::kLikely : Confidence::kCertain;
  const auto at_most = [&confidence](Confidence limit) {
    confidence = std::min(confidence, limit);
  };
  if (!is_awaited(input, rank)) {
    const bool odd = input.about.basis == Basis::kOdd;
    at_most(evidence != Evidence::kAbsence ? Confidence::kLikely
            : odd                          ? Confidence::kPossible
                                           : Confidence::kNone);
  } else if (input.is_assumed(rank)) {
    at_most(state ? Confidence::kLikely : Confidence::kPossible);
  }
  if (!state && !view.motion.measured && evidence != Evidence::kNumbers) {
    at_most(Confidence::kPossible);
  }
  if (!state && view.motion.stack) {
    at_most(input.all_move ? Confidence::kNone : Confidence::kPossible);
  }
  if (!state && !waiters_stand_still(input, rank)) {
    at_most(Confidence::kNone);
  }
  if (input.unread) {
    at_most(evidence == Evidence::kAbsence ? Confidence::kPossible : Confidence::kLikely);
  }
  return confidence;
}

bool waits_for_several(const RuleInput& input, const std::vector<std::size_t>& ranks) {
  return std::ranges::any_of(ranks, [&input](std::size_t at) {
    const auto* decider = input.rank(at).decider;
    return decider != nullptr && decider->call && peers_of(input.view, *decider->call).size() > 1;
  });
}

std::string ranks_words(const RuleInput& input, const std::vector<std::size_t>& ranks) {
  const std::string set = format_ranks(input.view.numbers_of(ranks));
  if (set.empty()) {
    return pids_words(input, ranks);
  }
  return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", set);
}

std::string sides_words(const RuleInput& input,
                        const std::vector<std::size_t>& ranks,
                        Verbs verbs,
                        const std::function<std::string(std::size_t)>& wait_of) {
  constexpr std::size_t kMaxSides = 4;
  std::map<std::string, std::vector<std::size_t>> sides;
  for (const std::size_t at : ranks) {
    sides[wait_of(at)].push_back(at);
  }
  std::string text;
  std::size_t shown = 0;
  std::size_t left = 0;
  for (const auto& [wait, members] : sides) {
    if (shown >= kMaxSides) {
      left += members.size();
      continue;
    }
    ++shown;
    text += fmt::format("{}{} {}{}", text.empty() ? "" : ", ", ranks_words(input, members),
                        members.size() == 1 ? verbs.one : verbs.several, wait);
  }
  return left == 0 ? text : fmt::format("{}, and {} more", text, left);
}

std::string call_at_words(const RuleInput& input, const RankView& rank) {
  if (rank.presence == Presence::kRecorded) {
    std::string words;
    for (const Slot& slot : input.graph.slots) {
      const std::size_t at = input.view.index_of(rank);
      if (words.size() < kMaxCallWords && std::ranges::binary_search(slot.inside, at)) {
        words += (words.empty() ? "" : " and ") + slot.words;
      }
    }
    return words;
  }
  std::string words = call_words(input.view, *rank.decider->call);
  const auto frame = rank.decider->call->sequence < 0 || rank.sample() == nullptr
                         ? std::nullopt
                         : input.view.model().user_frame(*rank.sample());
  return frame ? fmt::format("{} at {}", words, frame->place()) : words;
}

bool any_moved(const RuleInput& input, const std::vector<std::size_t>& ranks) {
  return std::ranges::any_of(ranks, [&input](std::size_t at) {
    const Motion& motion = input.rank(at).motion;
    return motion.stack || motion.locals || motion.woke;
  });
}

Confidence same_calls(const RuleInput& input, const std::vector<std::size_t>& ranks) {
  constexpr std::size_t kOften = 3;
  Confidence sure = Confidence::kCertain;
  for (const std::size_t at : ranks) {
    const RankView& rank = input.rank(at);
    const auto* sample = rank.sample();
    const bool spins = sample != nullptr && sample->state == 'R' && rank.decider->call;
    if (spins && !is_counted(rank)) {
      const snapshot::CollectiveCall& call = *rank.decider->call;
      // While a call asks for a window's lock, its rank gives none back.
      const bool has_lock = call.wants_window >= 0 && call.has_windows != snapshot::StringId{};
      const bool often = rank.decider->samples.size() >= kOften;
      sure = std::min(sure, !rank.decider->has_python && !has_lock ? Confidence::kNone
                            : often                                ? Confidence::kLikely
                                                                   : Confidence::kPossible);
    }
  }
  return sure;
}

std::string places(const RuleInput& input,
                   const std::vector<std::size_t>& ranks,
                   const std::function<std::string(const RankView&)>& predicate) {
  constexpr std::size_t kMaxPredicates = 3;
  constexpr std::size_t kMaxAsked = 1024;  // of thousands of ranks, the first ones speak
  std::vector<std::pair<std::string, std::vector<std::size_t>>> rows;
  std::vector<std::size_t> more;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const std::size_t at = ranks[i];
    if (i >= kMaxAsked) {
      more.push_back(at);
      continue;
    }
    const std::string words = predicate(input.rank(at));
    const auto same =
        std::ranges::find_if(rows, [&](const auto& row) { return row.first == words; });
    if (same != rows.end()) {
      same->second.push_back(at);
    } else if (rows.size() < kMaxPredicates) {
      rows.push_back({words, {at}});
    } else {
      more.push_back(at);
    }
  }
  std::string text;
  for (const auto& [words, members] : rows) {
    text += fmt::format("{}{} {}", text.empty() ? "" : "; ",
                        JobView::name(input.rank(members.front())), words);
    if (members.size() > 1) {
      text += fmt::format("; the same is true of {}",
                          ranks_words(input, {members.begin() + 1, members.end()}));
    }
  }
  if (!more.empty()) {
    text += fmt::format("; and {} more: {}", more.size(), ranks_words(input, more));
  }
  return text;
}

std::string sentence(const RuleInput& input,
                     const std::vector<std::size_t>& ranks,
                     const std::function<std::string(const RankView&)>& predicate) {
  const std::string text = places(input, ranks, predicate);
  const std::string waiters = input.about.basis == Basis::kOdd && ranks.size() == 1
                                  ? others_words(input, ranks.front())
                                  : awaited_words(input, ranks);
  const std::string all = waiters.empty() ? text : text + "; " + waiters;
  return input.about.first_to_stop ? all + "; " + quiet_words(input, ranks.front()) : all;
}

std::string sentence_of_end(const RuleInput& input,
                            const std::vector<std::size_t>& ranks,
                            const std::function<std::string(const RankView&)>& predicate) {
  return sentence(input, ranks, [&](const RankView& rank) {
    return input.end(rank).way_words() + predicate(input.end(rank).view());
  });
}

Culprit culprit_of(const JobView& view, const RankView& rank) {
  return {rank.rank, rank.host, rank.pid(), rank.decider == nullptr ? 0 : rank.decider->tid,
          waits_for(view, rank)};
}

Finding accuse(const RuleInput& input,
               Kind kind,
               const std::vector<std::size_t>& ranks,
               Evidence evidence) {
  Finding finding;
  finding.kind = kind;
  finding.confidence = Confidence::kCertain;
  for (const std::size_t at : ranks) {
    const RankView& rank = input.rank(at);
    finding.at_most(judge(input, at, evidence));
    Culprit culprit = culprit_of(input.view, rank);
    if (row_of(kind).story.at_end && !input.end(at).is_own()) {
      take_end(input, input.end(at), finding, culprit.waits_for);
    }
    finding.culprits.push_back(std::move(culprit));
  }
  finding.chain = is_awaited(input, ranks.front())
                      ? chain_to(input.view, input.graph, ranks.front())
                      : chain_from(input.view, input.graph, ranks.front());
  finding.basis = input.about.basis;
  finding.explains = waiters_of(input.graph, ranks.front()).size();
  const bool vague = input.about.basis == Basis::kVague &&
                     std::ranges::any_of(ranks, [&input, kind](std::size_t at) {
                       const RankView& rank = input.rank(at);
                       return may_need_others(input, rank) || kind == Kind::kFileLock;
                     });
  const bool odd = input.about.basis == Basis::kOdd && evidence != Evidence::kState;
  const bool young = input.young() && row_of(kind).place_only;
  if (vague || odd || young) {
    finding.at_most(Confidence::kPossible);
  }
  return finding;
}

Finding accuse(const RuleInput& input, Evidence evidence) {
  return accuse(input, input.kind, input.with_story, evidence);
}

Advice on(const RankView& rank, std::string text) {
  return {std::move(text), rank.host, false};
}

std::vector<Advice> look_at_gpu(const RuleInput& input, const RankView& rank) {
  if (waits_for_amds_gpu(input.view, rank)) {
    return {on(rank, "rocm-smi"), on(rank, "dmesg -T | grep -i amdgpu | tail")};
  }
  return {on(rank, "nvidia-smi -q | grep -i -E 'xid|retired|power draw'"),
          on(rank, "dmesg -T | grep -i xid | tail")};
}

Advice on_live(const RankView& rank, std::string text) {
  return {std::move(text), rank.host, true};
}

std::string awaited_words(const RuleInput& input, const std::vector<std::size_t>& ranks) {
  constexpr std::size_t kMaxColumns = 40;
  const std::vector<std::size_t> waiters = waiters_of(input.graph, ranks.front());
  if (waiters.empty()) {
    return {};
  }
  const auto slot = std::ranges::find_if(input.graph.slots, [&ranks](const Slot& one) {
    return std::ranges::binary_search(one.absent, ranks.front());
  });
  const bool in_call = slot != input.graph.slots.end();
  const std::vector<std::size_t>& direct = in_call ? slot->inside : waiters;
  std::string who = ranks_words(input, direct);
  if (who.size() > kMaxColumns) {
    who = count_of(direct.size(), input.view.unit());
  }
  std::string text = fmt::format("{} {} for {}", who, direct.size() == 1 ? "waits" : "wait",
                                 ranks.size() == 1 ? "it" : "them");
  if (in_call) {
    text += " in " + slot->words;
  }
  if (waiters.size() > direct.size()) {
    text += fmt::format(", and {} for those",
                        waiters.size() - direct.size() == 1
                            ? std::string("1 more waits")
                            : fmt::format("{} more wait", waiters.size() - direct.size()));
  }
  return text;
}

}  // namespace oddrank::aggregate
