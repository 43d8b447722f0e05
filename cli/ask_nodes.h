// What every command does that asks the nodes of a job, however they are reached.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/options.h"
#include "reach/front_end.h"
#include "snapshot/capture.h"

namespace oddrank::cli {

struct NodeQuestion {
  // What this program runs there ("agent", "--framed", ...). Where the job is found and how it is
  // captured are added.
  std::vector<std::string> command;
  std::string agent = {};       // the path of this program there; empty: as here
  const char* nodes = "nodes";  // as the line of progress calls them
  bool quiet = false;           // without that line
};

struct NodeAnswers {
  snapshot::JobInfo job;
  reach::GatherResult gathered;
};

// Finds the job and asks its nodes. Ctrl-C ends the gathering (interrupt.h).
Result<NodeAnswers> ask_nodes(reach::FrontEnd& front_end,
                              const NodeQuestion& question,
                              const NodeCapture& capture);

// Does the same and joins the answers (join_answers.h).
Result<snapshot::Capture> capture_nodes(reach::FrontEnd& front_end,
                                        const NodeQuestion& question,
                                        const NodeCapture& capture);

}  // namespace oddrank::cli
