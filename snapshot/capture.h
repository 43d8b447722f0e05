// A capture: all that was read on one node or in a whole job. Plain data, which can be diagnosed
// again elsewhere. A node's capture is a capture with one node in it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "snapshot/collective_state.h"
#include "snapshot/process_capture.h"
#include "snapshot/tables.h"

namespace oddrank::snapshot {

enum class JobSource : std::uint8_t { kNode = 0, kSlurm, kHosts, kCore, kReport };

// What the launcher says about the job; all of it may be unknown (empty or -1).
struct JobInfo {
  std::string id;
  JobSource source = JobSource::kNode;
  std::string name;
  std::string user;
  std::string state;
  std::string output_path;       // of the batch script's stdout
  std::int32_t world_size = -1;  // expected ranks; -1 = unknown
  std::int64_t elapsed_s = -1;
  std::int64_t time_left_s = -1;
  std::vector<std::string> hosts;  // all nodes of the job, including those that did not answer
  std::vector<std::string> notes;  // for the reader of a report; not about a single node

  bool operator==(const JobInfo&) const = default;
};

struct NodeCapture {
  std::string host;
  bool answered = false;
  std::string why;                           // not answered, or answered in part: a sentence
  std::uint64_t took_us = 0;                 // of the agent, from start to the capture's end
  std::vector<std::int32_t> expected_ranks;  // of this node, if the launcher lists them
  std::vector<std::string> notes;            // for the reader of a report

  bool operator==(const NodeCapture&) const = default;
};

// A capture without the tables that its ids refer to.
struct CaptureRows {
  JobInfo job;
  std::vector<NodeCapture> nodes;
  std::vector<ProcessCapture> processes;  // ranks and their children, in no order
  CollectiveState collectives;
};

// Move-only, since its tables are.
struct Capture : CaptureRows {
  Tables tables;
};

}  // namespace oddrank::snapshot
