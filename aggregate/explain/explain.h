// How a verdict was reached, as plain data: the facts with their strength, what each rank is
// blocked on, what the solver found in both of its runs, and what was not used. For engineers who
// doubt a verdict (`--explain`).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate/evidence/holders.h"
#include "aggregate/verdict.h"
#include "aggregate/view/job_view.h"

namespace oddrank::aggregate {

// One wait, or the same wait of several ranks.
struct ExplainedFact {
  std::string who;  // "ranks 0-3", "pid 71 (DataLoader worker)", "all_reduce in default group"
  std::string waits_for;  // the same, or a file, ...
  std::string on;
  std::string evidence;
  HowKnown how = HowKnown::kKernel;
  bool guess = false;          // one of several that are possible
  std::int64_t quiet_ms = -1;  // none of them has run for at least this long; -1 = unknown
};

struct ExplainedRanks {
  std::string who;
  std::string blocked_on;  // "wait for other ranks", "can move by themselves, or ..."
};

// A rank, link or call, or a circle, that nothing holds.
struct ExplainedCause {
  std::string who;
  bool circle = false;
  bool closed = true;       // of a circle: no wait leads out of it
  std::size_t waiters = 0;  // ranks that need it, whichever the unknown holders are
  // A rank or a link. False: a call that all members are in, or whose members are unknown.
  bool is_rank = true;
  std::string pessimistic;  // what becomes of it if unknown holders may be ranks
};

struct Explanation {
  std::vector<ExplainedFact> facts;
  std::size_t more_facts = 0;  // that were left out
  std::vector<ExplainedRanks> blocked;
  std::vector<ExplainedCause> causes;
  std::vector<std::string> not_used;
};

// Returns the name in reports.
std::string_view how_name(HowKnown how);  // "kernel", "memory", "frames", "exclusion", "text"

// `verdict`: what diagnose() found for this view.
Explanation explain(const JobView& view, const Verdict& verdict);

}  // namespace oddrank::aggregate
