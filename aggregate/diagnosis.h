// What diagnose() found, as plain data, ready to be reported in any form.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "aggregate/explain/explain.h"
#include "aggregate/flight/flight_history.h"
#include "aggregate/frames/frame_model.h"
#include "aggregate/sources/source_finding.h"
#include "aggregate/store_tables.h"
#include "aggregate/verdict.h"
#include "aggregate/view/compare.h"
#include "aggregate/view/locals_diff.h"
#include "aggregate/view/quiet_span.h"

namespace oddrank::aggregate {

struct Unread {
  std::vector<std::int32_t> ranks;  // -1 for a process without a rank
  std::vector<pid_t> pids;          // of the same; 0 = unknown
  std::string host;
  std::string why;
  bool partial = false;
  bool gone = false;  // not unread: there is nothing to read
};

struct Coverage {
  std::size_t expected = 0;
  std::size_t read = 0;
  std::size_t partial = 0;
  std::size_t nodes_expected = 0;
  std::size_t nodes_answered = 0;
  std::uint64_t skew_us = 0;
  std::uint64_t began_us = 0;  // JobView::began_us()
  std::size_t beside = 0;      // of those expected: JobView::beside_ranks()
  bool of_ranks = true;        // false: processes without a rank, which were given by pid
  std::vector<Unread> unread;  // ranks with the same host and reason are one row

  bool complete() const { return read == expected && unread.empty(); }
};

// A process that a culprit waits for, with the stack of its deciding thread.
struct ReportedProcess {
  pid_t pid = 0;
  std::string host;
  std::string what;   // "its DataLoader worker"
  std::string stuck;  // "is stuck in read() of /data/x"
  FoldedStack stack;
  QuietSpan quiet;  // of the thread that has this stack
};

struct ReportedGroup {
  std::vector<std::int32_t> ranks;  // known rank numbers, ascending
  std::vector<pid_t> pids;          // only the first few, in the order of the ranks
  std::vector<std::string> labels;  // of these (RankView::label)
  std::size_t count = 0;
  std::string hosts;        // "n[0-3]"
  std::string coordinates;  // if the group is one rank: "tp1 pp0 dp3"; "" = unknown
  std::string phase;
  std::string state;  // "S", "RS"
  QuietSpan quiet;    // of the ranks' decider threads
  bool culprit = false;
  FoldedStack stack;
  // The main thread of its first rank, if its deciding thread runs no Python (autograd's, XLA's):
  // only the main thread shows the program's lines. Empty otherwise.
  FoldedStack main_stack;
  std::vector<ReportedProcess> awaited;      // if the group is a culprit
  std::vector<LocalDifference> differences;  // in its ranks' locals, the most telling first
};

// What reports show in place of several groups that differ only by their process group
// (symmetry/fold_groups.h), or a group that is shown as it is.
struct ShownGroup {
  std::vector<std::size_t> parts;      // into Diagnosis::groups
  std::optional<ReportedGroup> whole;  // if it is several

  bool is_folded() const { return whole.has_value(); }
};

struct ReportedSlot {
  std::string group;  // "" = unknown
  std::string op;
  std::int64_t sequence = -1;
  std::string words;
  std::vector<std::int32_t> inside;
  std::vector<std::int32_t> absent;
  bool members_known = false;
};

struct Diagnosis {
  Verdict verdict;
  Coverage coverage;
  std::vector<ReportedGroup> groups;  // the culprit's first, then largest first
  // The same groups, folded: culprits first, then those that wait for them directly.
  std::vector<ShownGroup> shown;
  std::vector<ReportedSlot> slots;
  std::vector<RankStep> steps;         // of ranks whose recorders were read from memory; by rank
  std::vector<SourceFinding> sources;  // other than the stacks; their sentences are among the notes
  std::vector<StoreTable> stores;      // at which clients wait
  std::vector<std::string> notes;
  std::optional<Explanation> explanation;  // how it was found, if asked for (explain.h)
  std::optional<Comparison> since;         // compared with an earlier capture, if there is one
  std::string job;        // "job 4711 (pretrain)", "this node", ...; for the first screen
  bool of_cores = false;  // from core files: the processes are gone

  const ReportedGroup& group_of(const ShownGroup& row) const;
};

inline const ReportedGroup& Diagnosis::group_of(const ShownGroup& row) const {
  return row.whole ? *row.whole : groups[row.parts.front()];
}

}  // namespace oddrank::aggregate
