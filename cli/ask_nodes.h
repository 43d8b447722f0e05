// Asks the nodes of a job, however they are reached: shared by job, hosts, kube and doctor.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/options.h"
#include "reach/front_end.h"
#include "snapshot/capture.h"

namespace oddrank::cli {

struct NodeQuestion {
  // The command line of oddrank on a node ("agent", "--framed", ...). The job's arguments and the
  // capture's options are added.
  std::vector<std::string> command;
  std::string agent = {};       // the path of this program there; empty: the same as here
  const char* nodes = "nodes";  // what the progress line calls them
  bool quiet = false;           // no progress line
};

struct NodeAnswers {
  snapshot::JobInfo job;
  reach::GatherResult gathered;
};

// Finds the job and asks its nodes. Ctrl-C ends the gathering (interrupt.h).
Result<NodeAnswers> ask_nodes(reach::FrontEnd& front_end,
                              const NodeQuestion& question,
                              const NodeCapture& capture);

// Does the same and joins the answers. These are foreign bytes, so this confines the process for
// good (base/confine.h): it cannot start programs afterwards. Precondition: one thread.
Result<snapshot::Capture> capture_nodes(reach::FrontEnd& front_end,
                                        const NodeQuestion& question,
                                        const NodeCapture& capture);

}  // namespace oddrank::cli
