// Joins captures: nodes of a job, samples of a node, or several files given to `oddrank report`.
#pragma once

#include "snapshot/capture.h"

namespace oddrank::snapshot {

// Adds nodes and processes of `from` to `into`, with ids carried over to the tables of `into`. A
// node that is there already (same host) is kept once, the answered one; a process that is there
// already (same host, pid and start) is kept once, the one that was read better or later. Job facts
// that `into` lacks are taken from `from`.
void merge_into(Capture& into, const Capture& from);

// Ids of one table carried over to another, on demand.
class Carrier {
 public:
  Carrier(const Tables& from, Tables& to) : from_(from), to_(to) {}
  StringId string(StringId id);
  FrameId frame(FrameId id);
  StackId stack(StackId id);
  ProcessCapture process(const ProcessCapture& process);

 private:
  const Tables& from_;
  Tables& to_;
};

}  // namespace oddrank::snapshot
