#include "slurm/explain.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/split.h"
#include "reach/silence.h"
#include "slurm/client.h"
#include "slurm/launch.h"

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

namespace {

constexpr std::size_t kMaxAskedHosts = 200;

bool is_healthy(std::string_view state) {
  constexpr std::array<std::string_view, 5> kHealthy = {"allocated", "mixed", "idle", "completing",
                                                        "reserved"};
  return std::find(kHealthy.begin(), kHealthy.end(), state) != kHealthy.end();
}

// "down*" -> "down, not responding"; "" if all is well. sinfo(1), "NODE STATE CODES": the star is
// for not responding, other marks (~ # % $ @ ^ !) for power saving, maintenance and reboots.
std::string node_state_words(std::string_view state) {
  const bool responds = state.find('*') == std::string_view::npos;
  const std::string_view name = state.substr(0, state.find_first_of("*~#!%$@^-+"));
  std::string words = is_healthy(name) ? std::string() : std::string(name);
  if (!responds) {
    words += words.empty() ? "not responding" : ", not responding";
  }
  return words;
}

}  // namespace

std::map<std::string, std::string> parse_node_states(std::string_view text) {
  std::map<std::string, std::string> states;
  for (const std::string_view line : split(text, '\n')) {
    const auto first = line.find('|');
    const auto second = line.find('|', std::min(first, line.size() - 1) + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) {
      continue;
    }
    std::string words = node_state_words(trim(line.substr(first + 1, second - first - 1)));
    const std::string_view reason = trim(line.substr(second + 1));
    if (words.empty()) {
      continue;
    }
    if (!reason.empty() && reason != "none") {
      words += " (" + std::string(reason.substr(0, 120)) + ")";
    }
    states.emplace(trim(line.substr(0, first)), std::move(words));
  }
  return states;
}

std::map<std::string, std::string> node_states(const std::vector<std::string>& hosts,
                                               const Deadline& deadline) {
  std::string list;
  for (std::size_t i = 0; i < std::min(hosts.size(), kMaxAskedHosts); ++i) {
    list += (list.empty() ? "" : ",") + hosts[i];
  }
  if (list.empty()) {
    return {};
  }
  const auto text = call_client({"sinfo", "-h", "-N", "-n", list, "-o", "%N|%T|%E"}, deadline);
  return text ? parse_node_states(*text) : std::map<std::string, std::string>{};
}

}  // namespace oddrank::slurm
