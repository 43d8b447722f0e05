// The table of verdict kinds. The row of a kind holds all that depends on the kind alone, and the
// rules that find it. How to add a kind: CONTRIBUTING.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "aggregate/rules/rule.h"

namespace oddrank::aggregate {

// --- the rules, each in rules/<name>.cc: return what they find, often nothing ---

std::vector<Finding> healthy(const RuleInput& input);
std::vector<Finding> slow(const RuleInput& input);
std::vector<Finding> has_work(const RuleInput& input);
std::vector<Finding> missing_rank(const RuleInput& input);
std::vector<Finding> missing_dump(const RuleInput& input);
std::vector<Finding> stopped_rank(const RuleInput& input);
std::vector<Finding> skipped_collective(const RuleInput& input);
std::vector<Finding> mismatched_collective(const RuleInput& input);
std::vector<Finding> behind_in_group(const RuleInput& input);
std::vector<Finding> order_cycle(const RuleInput& input);
std::vector<Finding> input_stall(const RuleInput& input);
std::vector<Finding> child_deadlock(const RuleInput& input);
std::vector<Finding> io_stall(const RuleInput& input);
std::vector<Finding> file_lock(const RuleInput& input);
std::vector<Finding> lock_deadlock(const RuleInput& input);
std::vector<Finding> rendezvous(const RuleInput& input);
std::vector<Finding> made_by_some(const RuleInput& input);
std::vector<Finding> made_another(const RuleInput& input);
std::vector<Finding> launchers_wait(const RuleInput& input);
std::vector<Finding> external_wait(const RuleInput& input);
std::vector<Finding> failed_rank(const RuleInput& input);
std::vector<Finding> crashed_rank(const RuleInput& input);
std::vector<Finding> device_stall(const RuleInput& input);
std::vector<Finding> gpu_stall(const RuleInput& input);
std::vector<Finding> busy_rank(const RuleInput& input);
std::vector<Finding> resource_cycle(const RuleInput& input);
std::vector<Finding> early_exit(const RuleInput& input);
std::vector<Finding> link_stall(const RuleInput& input);
std::vector<Finding> below_host(const RuleInput& input);
std::vector<Finding> unknown(const RuleInput& input);  // always returns one finding

// --- return whether a rank's own place shows this (local_story.h) ---

bool is_crashed(const RuleInput& input, const RankView& rank);
bool is_stopped(const RuleInput& input, const RankView& rank);
bool is_in_lock_circle(const RuleInput& input, const RankView& rank);
bool is_in_gil_circle(const RuleInput& input, const RankView& rank);
bool is_failed(const RuleInput& input, const RankView& rank);
bool is_ending(const RuleInput& input, const RankView& rank);
bool has_doomed_child(const RuleInput& input, const RankView& rank);
bool is_at_loop(const RuleInput& input, const RankView& rank);
bool is_in_io(const RuleInput& input, const RankView& rank);
bool is_in_input(const RuleInput& input, const RankView& rank);
bool is_in_file_lock(const RuleInput& input, const RankView& rank);
bool is_in_device(const RuleInput& input, const RankView& rank);
bool is_outside(const RuleInput& input, const RankView& rank);
bool is_in_unread_call(const RuleInput& input, const RankView& rank);
bool is_busy(const RuleInput& input, const RankView& rank);

// --- the table ---

// What a verdict of this kind says about the job.
enum class Progress : std::uint8_t {
  kStuck,  // something holds it up, or may do so
  kBusy,   // one rank has more work than the others
  kMoves,
};

// A story that a rank's own place tells. A rank has at most one: the first, by `place`, that
// applies.
struct LocalStory {
  int place = 0;  // from 1 on, each used once; 0: a rank's own place never shows this kind
  bool (*applies)(const RuleInput&, const RankView&) = nullptr;
  // `applies` is asked about the process and thread in which the rank's wait ends (wait_end.h).
  bool at_end = false;
  bool or_own = false;  // then about the rank itself, if it does not apply to the end
};

struct KindRow {
  Kind kind = Kind::kUnknown;
  std::string_view name;  // in the JSON and in every report: a contract with scripts
  // Tells why the suspects hold the job up. Asked for each basis if a suspect has the story of this
  // kind, or `always`.
  Rule rule = nullptr;
  Rule job_rule = nullptr;  // looks at the whole job, once; may be the rule of several kinds
  LocalStory story = {};
  // What a finding of `job_rule` rests on. One of `rule` rests on what its suspects do.
  Basis basis = Basis::kRoot;
  bool names_culprits = true;
  Tone tone = Tone::kBad;
  Progress progress = Progress::kStuck;
  // Says where the culprit is, not why: a finding about the same ranks that says why wins.
  bool place_only = false;
  bool always = false;
  // One sample is enough for more than `possible`: the kind rests on which processes there are, and
  // in which state.
  bool one_sample = false;
};

// In the order of the enumeration. Rules are asked in this order, too.
inline constexpr auto kKinds = std::to_array<KindRow>({
    // Overrules what looks odd in one of the samples.
    {.kind = Kind::kHealthy,
     .name = "healthy",
     .job_rule = healthy,
     .basis = Basis::kMotion,
     .names_culprits = false,
     .tone = Tone::kFine,
     .progress = Progress::kMoves},
    // A slow job is healthy, too: this says more.
    {.kind = Kind::kSlow,
     .name = "slow",
     .rule = has_work,
     .job_rule = slow,
     .story = {7, is_at_loop, true, true},
     .basis = Basis::kMotion,
     .progress = Progress::kMoves},
    {.kind = Kind::kMissingRank,
     .name = "missing_rank",
     .rule = missing_rank,
     .job_rule = missing_dump,
     .one_sample = true},
    {.kind = Kind::kStoppedRank,
     .name = "stopped_rank",
     .rule = stopped_rank,
     .story = {2, is_stopped, true},  // explains the rank, wherever it was stopped
     .one_sample = true},
    // Also the story of a rank that is in its own code and has no other story.
    {.kind = Kind::kSkippedCollective,
     .name = "skipped_collective",
     .rule = skipped_collective,
     .job_rule = behind_in_group,
     .place_only = true},
    {.kind = Kind::kMismatchedCollective,
     .name = "mismatched_collective",
     .job_rule = mismatched_collective},
    {.kind = Kind::kCollectiveOrder, .name = "collective_order", .job_rule = order_cycle},
    {.kind = Kind::kP2pOrder, .name = "p2p_order", .job_rule = order_cycle},
    {.kind = Kind::kInputStall,
     .name = "input_stall",
     .rule = input_stall,
     .story = {10, is_in_input},
     .place_only = true},
    {.kind = Kind::kChildDeadlock,
     .name = "child_deadlock",
     .rule = child_deadlock,
     .story = {8, has_doomed_child},
     .one_sample = true},
    {.kind = Kind::kIoStall,
     .name = "io_stall",
     .rule = io_stall,
     .story = {9, is_in_io, true},
     .place_only = true},
    {.kind = Kind::kFileLock,
     .name = "file_lock",
     .rule = file_lock,
     .story = {11, is_in_file_lock, true, true},
     .always = true},
    {.kind = Kind::kLockDeadlock,
     .name = "lock_deadlock",
     .rule = lock_deadlock,
     .story = {3, is_in_lock_circle}},
    {.kind = Kind::kGilDeadlock,
     .name = "gil_deadlock",
     .rule = lock_deadlock,
     .story = {4, is_in_gil_circle}},
    {.kind = Kind::kRendezvous,
     .name = "rendezvous",
     .rule = rendezvous,
     .job_rule = made_by_some,
     .always = true,
     .one_sample = true},
    {.kind = Kind::kExternalWait,
     .name = "external_wait",
     .rule = external_wait,
     .story = {13, is_outside, true}},
    {.kind = Kind::kFailedRank,
     .name = "failed_rank",
     .rule = failed_rank,
     .story = {5, is_failed}},
    {.kind = Kind::kCrashedRank,
     .name = "crashed_rank",
     .rule = crashed_rank,
     .story = {1, is_crashed},  // explains the rank, wherever it was
     .one_sample = true},
    {.kind = Kind::kDeviceStall,
     .name = "device_stall",
     .rule = device_stall,
     .job_rule = gpu_stall,
     .story = {12, is_in_device, true}},
    {.kind = Kind::kBusyRank,
     .name = "busy_rank",
     .rule = busy_rank,
     .story = {15, is_busy, true},
     .progress = Progress::kBusy,
     .place_only = true},
    // The kernel itself counts the tries, so no second sample is needed.
    {.kind = Kind::kLinkStall,
     .name = "link_stall",
     .job_rule = link_stall,
     .names_culprits = false,
     .one_sample = true},
    {.kind = Kind::kBelowHost,
     .name = "below_host",
     .job_rule = below_host,
     .basis = Basis::kNobody,
     .names_culprits = false,
     .tone = Tone::kOpen},
    {.kind = Kind::kResourceCycle, .name = "resource_cycle", .job_rule = resource_cycle},
    {.kind = Kind::kEarlyExit,
     .name = "early_exit",
     .rule = early_exit,
     .story = {6, is_ending},
     .one_sample = true},
    // As kSkippedCollective, where the others do not wait in a call of a communicator.
    {.kind = Kind::kStuckRank,
     .name = "stuck_rank",
     .rule = skipped_collective,
     .place_only = true},
    // The verdict if no rule finds anything; never an alternative, and the only kind that needs no
    // confidence. Also the story of a rank about which nothing can be said.
    {.kind = Kind::kUnknown,
     .name = "unknown",
     .job_rule = unknown,
     .story = {14, is_in_unread_call},
     .basis = Basis::kNothing,
     .names_culprits = false,
     .tone = Tone::kOpen},
});

// Returns the row of a kind; of `unknown` if the kind is out of range.
const KindRow& row_of(Kind kind);

// Returns what the row's rule finds about the suspects of the input. Sets `kind` and `told` of the
// input.
std::vector<Finding> ask(const KindRow& row, RuleInput& input);

// Returns the rules of the table that look at the whole job, each once.
std::vector<Rule> job_rules();

}  // namespace oddrank::aggregate
