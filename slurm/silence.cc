#include "slurm/silence.h"

#include "base/span_words.h"
#include "slurm/client.h"

namespace oddrank::slurm {
namespace {

std::string what_happened(const Silence& silence) {
  if (silence.total > 0) {
    return "its answer arrived incomplete: " + std::to_string(silence.received) + " of " +
           std::to_string(silence.total) + " pieces";
  }
  if (!silence.exit.empty()) {
    const std::string said = first_complaint(silence.agent_text);
    const std::string what = silence.no_copy_runs
                                 ? "oddrank is not there, and no copy of it could be run: "
                                 : "its agent ended without an answer: ";
    return what + silence.exit + (said.empty() ? "" : " (" + said + ")");
  }
  if (!silence.launch_failure.empty()) {
    return "SLURM could not start an agent there: " + silence.launch_failure;
  }
  if (silence.interrupted) {
    return silence.heard ? "interrupted while its agent was reading"
                         : "interrupted before its agent started";
  }
  if (silence.srun_ended >= std::chrono::milliseconds(0)) {
    const std::string after = "after " + span_words(silence.srun_ended);
    return silence.complaint.empty() ? std::string(silence.heard ? "its agent started, and " : "") +
                                           "srun ended " + after + " without an answer of this node"
                                     : "srun: " + silence.complaint + " (it ended " + after + ")";
  }
  if (silence.heard) {
    return "its agent started but did not answer in " + span_words(silence.timeout);
  }
  const std::string did_not = "node did not answer in " + span_words(silence.timeout);
  return silence.complaint.empty() ? did_not : "srun: " + silence.complaint + "; " + did_not;
}

}  // namespace

std::string why_silent(const Silence& silence) {
  const std::string what = what_happened(silence);
  return silence.node_state.empty() ? what : what + "; SLURM says: " + silence.node_state;
}

}  // namespace oddrank::slurm
