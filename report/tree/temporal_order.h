// Which of several branches through the program is behind: sorts ranks that took different branches
// at a node of the prefix tree by time, using the program's own counters.
//
// A loop's counter is an integer local of a function that all these ranks are in. If every rank
// below every child has it, and all its values below one child are lower than all below another,
// the first child is behind: `train(step=1206)` in its loader, before `train(step=1207)` in
// all_reduce. STAT infers this from an analysis of the program's source; here it is read from the
// variables.
//
// A variable is ignored if a rank lacks it, if its values overlap below all children, if it is
// meant to differ by rank or follows the rank's number (plain_locals.h), or if at least three ranks
// all have different values. Two variables that contradict each other decide nothing. Names have no
// meaning here, so a counter that counts down is taken for one that counts up: the report shows
// which counter decided, with its values.
#pragma once

#include "aggregate/view/job_view.h"
#include "report/tree/prefix_tree.h"

namespace oddrank::report {

// Sorts the children of each node for which a counter shows the order, the lowest first; children
// with equal counters keep their order. Stores the deciding counter in TreeNode::counter. `tree` is
// of this view.
void order_in_time(const aggregate::JobView& view, PrefixTree& tree);

}  // namespace oddrank::report
