// Finds the ranks of this node, and the processes that belong to them.
#pragma once

#include "base/result.h"
#include "ranks/rank_tree.h"
#include "snapshot/capture.h"

namespace oddrank::ranks {

// Appends a row for each rank and each of its children (read = kNone; identity, command line and
// state filled in; node = 0). If the capture has a node, fills its expected_ranks and notes.
// Finding no rank is not an error: nothing is appended, and the notes may say why.
//
// With options.pids: appends those processes, ranks or not (rank -1); if one may not be read, its
// row has `why`. Fails if none of them can be read: kGone, kPermission with the reason.
//
// With options.ask: reads the memory of processes that are not identified otherwise
// (self_reports.h).
//
// Precondition: one thread (it forks). Takes some 10 ms, and as much for each process whose memory
// is read; some seconds if processes do not answer.
Status discover(const DiscoverOptions& options, snapshot::Capture& capture);

}  // namespace oddrank::ranks
