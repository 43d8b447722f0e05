// Which of several ways through the program is behind: ranks that went different ways from a node
// of the prefix tree are put in the order of time, by the program's own counters.
//
// A loop's counter is an integer local of a function that all of them are in. Where every rank
// below every child has it, and what it counts below one child is lower throughout than below
// another, the one is behind the other: `train(step=1206)` in its loader, before `train(step=1207)`
// in all_reduce. What STAT concludes from an analysis of the program's source is read from the
// variables instead.
//
// Nothing is concluded from a variable that a rank lacks, whose values overlap below all children,
// that is meant to differ by rank or follows its number (plain_locals.h), or that has a value of
// its own on each of three ranks or more. Two variables that say the opposite of each other tell
// nothing. No variable is known by name, so a lone counter that runs down is taken for one that
// runs up: the reader sees which one told, with its values.
#pragma once

#include "aggregate/view/job_view.h"
#include "aggregate/view/prefix_tree.h"

namespace oddrank::aggregate {

// Sorts the children of each node of which a counter tells the order: the lowest first, those that
// it does not tell apart in the order in which they were. Says in TreeNode::counter what told.
// `tree` is of this view.
void order_in_time(const JobView& view, PrefixTree& tree);

}  // namespace oddrank::aggregate
