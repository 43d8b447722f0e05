// The order of calls that all ranks of a program have in common.
//
// Ranks that run one program make their calls in one sequence, by the roles of groups ("tp", "dp",
// the default group). At any time, the numbers of calls that a rank has made in each role belong to
// one point of this sequence. So one of two ranks has made at least as many calls as the other in
// every role, and is at the same point of the program or past it. Ranks at one place have made the
// same calls. A rank that left out a call, or made one too many, cannot be compared in this way
// with the others.
//
// Limit: ranks differ without a fault in roles that only one stage has, or in which stages make
// different numbers of calls by design. So this tells which of several ranks deviated, not whether
// one did.
#pragma once

#include <cstddef>
#include <vector>

#include "aggregate/view/job_view.h"

namespace oddrank::aggregate {

// Returns the ranks (indices, ascending) that cannot be compared with most others: they are in none
// of the largest sets of comparable ranks. Empty if they are not the minority, or if groups or
// counts of a rank are not known.
std::vector<std::size_t> outside_common_order(const JobView& view);

}  // namespace oddrank::aggregate
