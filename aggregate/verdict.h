// The answer to "which rank holds the job up, and why?", as plain data.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aggregate/flight/past_calls.h"
#include "aggregate/view/rank_view.h"
#include "snapshot/wait.h"

namespace oddrank::aggregate {

// The kinds of the contract. What depends on the kind is in one table, with rows in this order:
// rules/all_rules.h.
enum class Kind : std::uint8_t {
  kHealthy = 0,
  kSlow,
  kMissingRank,
  kStoppedRank,
  kSkippedCollective,
  kMismatchedCollective,
  kCollectiveOrder,
  kP2pOrder,
  kInputStall,
  kChildDeadlock,
  kIoStall,
  kFileLock,
  kLockDeadlock,
  kGilDeadlock,
  kRendezvous,
  kExternalWait,
  kFailedRank,
  kCrashedRank,
  kDeviceStall,
  kBusyRank,
  kLinkStall,
  kBelowHost,
  kResourceCycle,
  kEarlyExit,
  kStuckRank,
  kUnknown,
};

enum class Confidence : std::uint8_t { kNone = 0, kPossible, kLikely, kCertain };

// How a report shows a kind: in red, or in a colour that accuses no rank.
enum class Tone : std::uint8_t { kBad = 0, kFine, kOpen };

// What follows from the kind alone (rules/all_rules.h).
std::string_view kind_name(Kind kind);  // its name in the JSON
Tone kind_tone(Kind kind);
bool is_stall(Kind kind);  // false if the job moves, or one rank is merely busy
std::string_view confidence_name(Confidence confidence);
// Returns "io_stall (likely)"; without the confidence if it is certain.
std::string kind_words(Kind kind, Confidence confidence);
std::string_view wait_name(snapshot::WaitOn what);  // "collective", "child", ...

// What a culprit waits for; -1, 0 and "" mean unknown or not applicable.
struct WaitsFor {
  snapshot::WaitOn what = snapshot::WaitOn::kUnknown;
  pid_t pid = 0;
  pid_t tid = 0;
  std::int32_t rank = -1;
  std::int32_t fd = -1;
  std::uint64_t address = 0;
  std::string path;
  std::string group;
  snapshot::Known holder_alive = snapshot::Known::kUnknown;
  std::string detail;
};

struct Culprit {
  std::int32_t rank = -1;  // -1: process without a known rank
  std::string host;
  pid_t pid = 0;  // 0: no such process exists
  pid_t tid = 0;
  WaitsFor waits_for;
};

// Returns the ranks of culprits.
std::vector<std::int32_t> numbers_of(const std::vector<Culprit>& culprits);

// Returns whether one of them is the rank.
bool is_named(const RankView& rank, const std::vector<Culprit>& culprits);

// One hop from the largest waiting group to the culprit, or from the culprit to what it waits for.
struct ChainLink {
  std::string waiters;    // rank set, or "pid 3380"
  std::string waits_for;  // rank set, "pid 3380", a path, ...
  std::string on;         // "all_reduce in default group"
  std::string evidence;
};

struct Alternative {
  Kind kind = Kind::kUnknown;
  std::string summary;
  std::string why_not;
};

// One end of a BrokenLink.
struct LinkEnd {
  std::int32_t rank = -1;
  std::string host;
  pid_t pid = 0;
  std::string device;   // "eth0"; "" = not known
  std::string address;  // "10.0.0.1:43210"
};
struct BrokenLink {
  LinkEnd from;
  LinkEnd to;
  bool one_way = false;         // only what `from` sends is lost; false: both ways, or unknown
  std::size_t connections = 0;  // stuck ones between the two ranks
  std::int64_t age_ms = -1;
  std::string evidence;
};

// A host at which broken links end.
struct SuspectHost {
  std::string host;
  std::size_t links = 0;  // stuck connections
};

// What to do, as a sentence or a command line.
struct Advice {
  std::string text;
  std::string host;         // where to do it; "" = anywhere
  bool needs_live = false;  // a live process, not a core file

  // NOLINTBEGIN(google-explicit-constructor): most advice is a sentence and no more
  Advice(std::string advice, std::string on = {}, bool live = false)
      : text(std::move(advice)), host(std::move(on)), needs_live(live) {}
  Advice(const char* advice) : text(advice) {}
  // NOLINTEND(google-explicit-constructor)

  // Returns "on n2: timeout 5 stat /x", fit for pasting.
  std::string words() const;
};

// Returns Advice::words() of each.
std::vector<std::string> advice_words(const std::vector<Advice>& advice);

// Another hold-up, independent of the first: if the first ends, this one remains.
struct OtherStory {
  Kind kind = Kind::kUnknown;
  Confidence confidence = Confidence::kNone;
  std::string summary;
  std::vector<Culprit> culprits;
};

struct Verdict {
  Kind kind = Kind::kUnknown;
  Confidence confidence = Confidence::kNone;
  std::string summary;
  std::vector<Culprit> culprits;
  std::vector<BrokenLink> links;           // if kLinkStall, which names no culprits
  std::vector<SuspectHost> suspect_hosts;  // the same; those with the most links first
  std::vector<ChainLink> chain;
  std::vector<Advice> advice;
  std::vector<std::string> disproves;  // what would show that the verdict is wrong
  // The last calls of the culprits and of the others, from flight recorders.
  std::vector<CallHistory> history;
  std::vector<OtherStory> also;
  std::vector<Alternative> alternatives;
};

}  // namespace oddrank::aggregate
