#include "slurm/silence.h"

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
    return "its agent ended without an answer: " + silence.exit +
           (said.empty() ? "" : " (" + said + ")");
  }
  if (!silence.launch_failure.empty()) {
    return "SLURM could not start an agent there: " + silence.launch_failure;
  }
  if (silence.interrupted) {
    return silence.heard ? "interrupted while its agent was reading"
                         : "interrupted before its agent began";
  }
  if (silence.heard) {
    return "its agent began but did not answer in " + seconds_text(silence.timeout);
  }
  const std::string did_not = "node did not answer in " + seconds_text(silence.timeout);
  return silence.complaint.empty() ? did_not : did_not + " (srun: " + silence.complaint + ")";
}

}  // namespace

std::string why_silent(const Silence& silence) {
  const std::string what = what_happened(silence);
  return silence.node_state.empty() ? what : what + "; SLURM says: " + silence.node_state;
}

std::string seconds_text(std::chrono::milliseconds duration) {
  const auto tenths = (duration.count() + 50) / 100;
  std::string text = std::to_string(tenths / 10);
  if (tenths % 10 != 0) {
    text += "." + std::to_string(tenths % 10);
  }
  return text + " s";
}

}  // namespace oddrank::slurm
