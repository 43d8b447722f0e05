#include "slurm/node_state.h"

#include <algorithm>
#include <array>

#include "base/split.h"
#include "slurm/client.h"

namespace oddrank::slurm {
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
