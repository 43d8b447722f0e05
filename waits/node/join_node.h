// The single entry point for facts about a whole node, once each process has been read
// (collect_waits.h): which process holds what another one waits for, and what the node lacks.
//
//   NodeStart start;                               // as early as possible
//   start_counting(start, capture);                // before the first sample
//   ... samples of all processes, names of their frames ...
//   join_node(start, open, capture, patience);
#pragma once

#include <chrono>

#include "snapshot/capture.h"
#include "waits/file_locks.h"
#include "waits/node/node_pressure.h"
#include "waits/node/owners/semaphore_owners.h"
#include "waits/node/polled_locks.h"

namespace oddrank::waits {

// The state of the node before the first sample; join_node compares it with the state after the
// last.
struct NodeStart {
  HeldLocksReader locks;  // all file locks of the node; read from now on
  MajorFaults faults;     // of the capture's processes
};

// Reads what join_node compares with the state after the last sample. Call once.
void start_counting(NodeStart& start, const snapshot::Capture& capture);

// Fills in the holders and notes of the capture's waits, and the notes of its node. Call once per
// capture of one live node, while its processes still wait and after the frames have their names.
// `open` opens a process whose semaphores are read. Never fails: what cannot be read stays unknown.
// Reads that may block run in a child with a deadline (base/isolated.h: the caller must have one
// thread only), so the call takes a few seconds at most, plus `patience` if the memory of many
// processes is searched.
void join_node(NodeStart& start,
               const OpenTarget& open,
               snapshot::Capture& capture,
               std::chrono::milliseconds patience);

// Does the same for processes that were read from core files: the steps that need no live process.
void join_cores(snapshot::Capture& capture);

}  // namespace oddrank::waits
