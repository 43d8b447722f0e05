#include "slurm/explain.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "reach/silence.h"
#include "slurm/client.h"
#include "slurm/launch.h"
#include "slurm/node_state.h"

namespace oddrank::slurm {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kStatePatience{2000};

milliseconds since(Deadline::Clock::time_point began, Deadline::Clock::time_point then) {
  return std::chrono::duration_cast<milliseconds>(then - began);
}

// Adds what the attempts to start an agent on this node have shown.
void add_attempts(const reach::NodeAnswer& node,
                  const Attempts& attempts,
                  Deadline::Clock::time_point began,
                  reach::Silence& silence) {
  const Attempt* last = nullptr;
  std::string complaint;
  for (const Attempt& attempt : attempts) {
    if (!attempt.covers(node.host)) {
      continue;
    }
    last = &attempt;
    const SrunWords& words = attempt.words();
    if (const auto failure = words.launch_failures.find(node.host);
        failure != words.launch_failures.end()) {
      silence.not_started = "SLURM could not start an agent there: " + failure->second;
    }
    if (words.ended_by_itself(node.host)) {
      silence.exit = words.exits.at(node.host);
    }
    if (!words.complaint.empty()) {
      complaint = words.complaint;
      silence.of_all = "srun: " + complaint;
    }
    for (const reach::IncompletePayload& part : attempt.incomplete()) {
      if (part.host == node.host && part.received >= silence.received) {
        silence.received = part.received;
        silence.total = part.total;
      }
    }
  }
  // The last one that was tried counts.
  if (last != nullptr && last->ended_by_itself()) {
    silence.ended = end_words(complaint, silence.heard, since(began, last->end()));
  }
}

// For a node that was retried, the last attempt's words count.
std::string last_agent_text(const std::string& host, const Attempts& attempts) {
  std::string text;
  for (const Attempt& attempt : attempts) {
    if (std::string said = attempt.covers(host) ? attempt.agent_text(host) : ""; !said.empty()) {
      text = std::move(said);
    }
  }
  return text;
}

std::map<std::string, std::string> states_of(const std::vector<reach::NodeAnswer>& nodes) {
  std::vector<std::string> hosts;
  hosts.reserve(nodes.size());
  for (const reach::NodeAnswer& node : nodes) {
    hosts.push_back(node.host);
  }
  return node_states(hosts, Deadline::after(kStatePatience));
}

}  // namespace

void explain_nodes(reach::GatherResult& result,
                   const Attempts& attempts,
                   const reach::AgentOptions& options,
                   Deadline::Clock::time_point began) {
  const milliseconds elapsed = since(began, Deadline::Clock::now());
  for (const Attempt& attempt : attempts) {
    result.notes.insert(result.notes.end(), attempt.refusals().begin(), attempt.refusals().end());
  }
  std::map<std::string, std::string> known;
  if (!result.interrupted) {
    known = states_of(result.nodes);
  }
  for (reach::NodeAnswer& node : result.nodes) {
    node.agent_text = last_agent_text(node.host, attempts);
    const auto state = known.find(node.host);
    if (node.answered) {
      if (state != known.end()) {
        result.notes.push_back("SLURM says of " + node.host + ": " + state->second);
      }
      continue;
    }
    reach::Silence silence;
    silence.timeout = std::min(options.limit_of(node), elapsed);
    silence.interrupted = result.interrupted;
    silence.heard = any_heard_of(attempts, node.host);
    add_attempts(node, attempts, began, silence);
    silence.complaint = first_complaint(node.agent_text);
    silence.no_copy_runs = node.lacks_program && node.copied_to.empty();
    if (state != known.end()) {
      silence.known = "SLURM says: " + state->second;
    }
    node.why = reach::why_silent(silence);
  }
}

}  // namespace oddrank::slurm
