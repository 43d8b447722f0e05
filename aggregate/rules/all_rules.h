// The table of verdict kinds. One row for each kind holds all that is decided by the kind alone,
// and the rules that find it. How to add a kind: CONTRIBUTING.md.
//
// Not in the table: `oddrank fr`, which has flight-recorder dumps and no stacks, chooses among
// these kinds by itself (flight_verdict.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "aggregate/rules/rule.h"

namespace oddrank::aggregate {

// --- the rules, each in rules/<name>.cc ---

std::vector<Finding> healthy(const RuleInput& input);
std::vector<Finding> slow(const RuleInput& input);
std::vector<Finding> missing_rank(const RuleInput& input);
std::vector<Finding> stopped_rank(const RuleInput& input);
std::vector<Finding> skipped_collective(const RuleInput& input);
std::vector<Finding> mismatched_collective(const RuleInput& input);
std::vector<Finding> order_cycle(const RuleInput& input);
std::vector<Finding> input_stall(const RuleInput& input);
std::vector<Finding> child_deadlock(const RuleInput& input);
std::vector<Finding> io_stall(const RuleInput& input);
std::vector<Finding> file_lock(const RuleInput& input);
std::vector<Finding> lock_deadlock(const RuleInput& input);
std::vector<Finding> rendezvous(const RuleInput& input);
std::vector<Finding> external_wait(const RuleInput& input);
std::vector<Finding> failed_rank(const RuleInput& input);
std::vector<Finding> device_stall(const RuleInput& input);
std::vector<Finding> busy_rank(const RuleInput& input);
std::vector<Finding> below_host(const RuleInput& input);
std::vector<Finding> recorded(const RuleInput& input);  // uses flight recorders and RAS
std::vector<Finding> unknown(const RuleInput& input);   // always returns one finding

// --- what a rank's own place shows (local_story.h) ---

bool is_stopped(const RuleInput& input, const RankView& rank);
bool is_in_lock_circle(const RuleInput& input, const RankView& rank);
bool is_in_gil_circle(const RuleInput& input, const RankView& rank);
bool is_failed(const RuleInput& input, const RankView& rank);
bool has_doomed_child(const RuleInput& input, const RankView& rank);
bool is_in_io(const RuleInput& input, const RankView& rank);
bool is_in_input(const RuleInput& input, const RankView& rank);
bool is_in_file_lock(const RuleInput& input, const RankView& rank);
bool is_in_device(const RuleInput& input, const RankView& rank);
bool is_outside(const RuleInput& input, const RankView& rank);
bool is_in_unread_call(const RuleInput& input, const RankView& rank);
bool is_busy(const RuleInput& input, const RankView& rank);

// --- the table ---

// What a verdict of this kind says about the job.
enum class Pace : std::uint8_t {
  kStands,  // something holds it up, or may do so
  kBusy,    // one rank has more work than the others
  kMoves,
};

// A story that a rank's own place tells. A rank has at most one: the first, by `place`, that
// applies.
struct LocalStory {
  int place = 0;  // from 1 on, each used once; 0: a rank's own place never shows this kind
  bool (*applies)(const RuleInput&, const RankView&) = nullptr;
};

// How a finding is ranked: it is overruled by one of a higher level; within a level by a surer one;
// then by one that ranks wait for; then by a heavier one. On a tie, the rule that is asked first
// wins.
struct Precedence {
  int level = 0;
  Confidence from = Confidence::kNone;  // a finding that is less sure than this has level 0
  // How much of the story the kind explains. `accuse` adds the number of waiting ranks, at most
  // 1000. A rule may raise or lower it for a single finding, and then says why.
  int weight = 0;
};

struct KindRow {
  Kind kind = Kind::kUnknown;
  std::string_view name;  // in the JSON and in every report: a contract with scripts
  Rule rule = nullptr;    // finds the kind from the stacks; may be the rule of several kinds
  Rule also = nullptr;    // also finds it, from another source; asked after all of the above
  LocalStory story = {};
  Precedence precedence = {};
  bool names_culprits = true;
  Tone tone = Tone::kBad;
  Pace pace = Pace::kStands;
  // Says where the culprit is, not why: what is left of a stronger kind if evidence is missing.
  bool place_only = false;
  // One sample is enough for more than `possible`: the kind rests on which processes there are, and
  // in which state.
  bool one_sample = false;
};

// In the order of the enumeration. Rules are asked in this order, too.
inline constexpr auto kKinds = std::to_array<KindRow>({
    {.kind = Kind::kHealthy,
     .name = "healthy",
     .rule = healthy,
     .precedence = {.level = 1,
                    .weight = 3000},  // overrules whatever looks odd in one of the samples
     .names_culprits = false,
     .tone = Tone::kFine,
     .pace = Pace::kMoves},
    {.kind = Kind::kSlow,
     .name = "slow",
     .rule = slow,
     .precedence = {.level = 2, .weight = 3500},  // a slow job is healthy, too: this says more
     .pace = Pace::kMoves},
    {.kind = Kind::kMissingRank,
     .name = "missing_rank",
     .rule = missing_rank,
     .precedence = {.weight = 2000},  // no later evidence changes that the rank is gone
     .one_sample = true},
    {.kind = Kind::kStoppedRank,
     .name = "stopped_rank",
     .rule = stopped_rank,
     .story = {1, is_stopped},  // explains the rank, wherever it was stopped
     .precedence = {.level = 1, .from = Confidence::kLikely, .weight = 1500},
     .one_sample = true},
    // Also the story of a rank that is in code of its own and has none of the other stories.
    {.kind = Kind::kSkippedCollective,
     .name = "skipped_collective",
     .rule = skipped_collective,
     .also = recorded,
     .place_only = true},
    {.kind = Kind::kMismatchedCollective,
     .name = "mismatched_collective",
     .rule = mismatched_collective,
     .also = recorded,
     .precedence = {.weight = 500}},
    {.kind = Kind::kCollectiveOrder,
     .name = "collective_order",
     .rule = order_cycle,
     .also = recorded,
     .precedence = {.weight = 600}},
    {.kind = Kind::kP2pOrder,
     .name = "p2p_order",
     .rule = order_cycle,
     .also = recorded,
     .precedence = {.weight = 600}},
    {.kind = Kind::kInputStall,
     .name = "input_stall",
     .rule = input_stall,
     .story = {7, is_in_input},
     .precedence = {.weight = 100},
     .place_only = true},
    {.kind = Kind::kChildDeadlock,
     .name = "child_deadlock",
     .rule = child_deadlock,
     .story = {5, has_doomed_child},
     .precedence = {.weight = 300},
     .one_sample = true},
    {.kind = Kind::kIoStall,
     .name = "io_stall",
     .rule = io_stall,
     .story = {6, is_in_io},
     .precedence = {.weight = 200},
     .place_only = true},
    {.kind = Kind::kFileLock,
     .name = "file_lock",
     .rule = file_lock,
     .story = {8, is_in_file_lock},
     .precedence = {.weight = 200}},
    {.kind = Kind::kLockDeadlock,
     .name = "lock_deadlock",
     .rule = lock_deadlock,
     .story = {2, is_in_lock_circle},
     .precedence = {.weight = 600}},
    {.kind = Kind::kGilDeadlock,
     .name = "gil_deadlock",
     .rule = lock_deadlock,
     .story = {3, is_in_gil_circle},
     .precedence = {.weight = 600}},
    {.kind = Kind::kRendezvous,
     .name = "rendezvous",
     .rule = rendezvous,
     .precedence = {.weight = 500},
     .one_sample = true},
    {.kind = Kind::kExternalWait,
     .name = "external_wait",
     .rule = external_wait,
     .story = {10, is_outside},
     .precedence = {.weight = 100}},
    {.kind = Kind::kFailedRank,
     .name = "failed_rank",
     .rule = failed_rank,
     .story = {4, is_failed},
     .precedence = {.weight = 400}},
    {.kind = Kind::kDeviceStall,
     .name = "device_stall",
     .rule = device_stall,
     .story = {9, is_in_device},
     .precedence = {.weight = 50}},
    {.kind = Kind::kBusyRank,
     .name = "busy_rank",
     .rule = busy_rank,
     .story = {12, is_busy},
     .pace = Pace::kBusy,
     .place_only = true},
    {.kind = Kind::kBelowHost,
     .name = "below_host",
     .rule = below_host,
     .names_culprits = false,
     .tone = Tone::kOpen},
    // The verdict if no rule finds anything; never an alternative, and the only kind that needs no
    // confidence. Also the story of a rank about which nothing can be said.
    {.kind = Kind::kUnknown,
     .name = "unknown",
     .rule = unknown,
     .story = {11, is_in_unread_call},
     .names_culprits = false,
     .tone = Tone::kOpen},
});

// Returns the row of a kind; of `unknown` if the kind is out of range.
const KindRow& row_of(Kind kind);

// Returns each rule of the table once.
std::span<const Rule> all_rules();

}  // namespace oddrank::aggregate
