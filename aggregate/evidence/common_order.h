// The order of calls that all ranks of a program have in common.
//
// Ranks that run one program make their calls in one sequence, by the roles of groups ("tp", "dp",
// the default group). At any time, the numbers of calls that a rank has made in each role are those
// of one point of this sequence; so of two ranks, one has made at least as many calls as the other
// in every role, and stands in the program where the first does or comes later. Ranks at one place
// have made the same calls. A rank that left a call out, or made one too many, cannot be compared
// in this way with those that did not.
//
// Limit: in roles that are one stage's only, or in which stages make different numbers of calls by
// design, ranks differ for no fault. So this tells which of several ranks deviated if one did, and
// not whether one did.
#pragma once

#include <cstddef>
#include <vector>

#include "aggregate/view/job_view.h"

namespace oddrank::aggregate {

// Returns the ranks (indices, ascending) that cannot be compared with most others: those that are
// in none of the largest sets of ranks that can all be compared. Empty if they are not the
// minority, or if groups or counts of a rank are not known.
std::vector<std::size_t> outside_common_order(const JobView& view);

}  // namespace oddrank::aggregate
