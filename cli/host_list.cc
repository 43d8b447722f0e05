#include "cli/host_list.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "base/ascii.h"
#include "base/hostlist.h"
#include "base/printable.h"
#include "base/read_file.h"
#include "base/split.h"
#include "cli/options.h"
#include "reach/by_command.h"
#include "reach/ssh.h"

namespace oddrank::cli {
namespace {

constexpr std::size_t kMaxHostFileBytes = std::size_t{4} << 20;
constexpr std::size_t kMaxHosts = 65536;  // of all lists together

struct Hosts {
  std::vector<std::string> names;
  std::set<std::string> seen;

  Status add(std::string_view text);
  // Adds the hosts of a file, a list in each line; '#' begins a comment. Hostfiles of MPI say how
  // many ranks fit on a host ("n0 slots=8", "n0:8"), and PBS writes a line for each.
  Status add_file(const std::string& path);
  Status add_line(std::string_view line);
};

// Returns the word of a hostfile without a number of slots; "" if it is nothing else.
std::string_view without_slots(std::string_view word) {
  if (word.find('=') != std::string_view::npos) {
    return {};
  }
  const std::size_t colon = word.find(':');
  if (colon != std::string_view::npos && colon == word.rfind(':') && colon + 1 < word.size() &&
      std::all_of(word.begin() + static_cast<std::ptrdiff_t>(colon) + 1, word.end(), is_digit)) {
    return word.substr(0, colon);
  }
  return word;
}

Status Hosts::add(std::string_view text) {
  auto listed = expand_hosts(text);
  if (!listed) {
    return fail(Errc::kUsage, std::move(listed.error().what), std::move(listed.error().hint));
  }
  for (std::string& host : *listed) {
    if (host.starts_with('-')) {  // the programs that reach it would take it for an option
      return fail(Errc::kUsage, "'" + printable(host) + "' is not the name of a host",
                  "write hosts as n0,n1 or n[0-3,7]");
    }
    if (seen.insert(host).second) {
      names.push_back(std::move(host));
    }
  }
  if (names.size() > kMaxHosts) {
    return fail(Errc::kUsage, "more than " + std::to_string(kMaxHosts) + " hosts",
                "write hosts as n0,n1 or n[0-3,7]");
  }
  return ok();
}

Status Hosts::add_file(const std::string& path) {
  ODDRANK_TRY(const std::string text, read_file(path, kMaxHostFileBytes));
  for (const std::string_view line : split(text, '\n')) {
    ODDRANK_TRY_STATUS(add_line(line.substr(0, line.find('#'))));
  }
  return ok();
}

Status Hosts::add_line(std::string_view line) {
  for (const std::string_view word : split_blanks(line)) {
    ODDRANK_TRY_STATUS(add(without_slots(word)));
  }
  return ok();
}

}  // namespace

Result<std::vector<std::string>> read_host_list(const std::vector<std::string>& words) {
  Hosts hosts;
  for (const std::string& word : words) {
    const bool is_file = !word.empty() && word.front() == '@';
    ODDRANK_TRY_STATUS(is_file ? hosts.add_file(word.substr(1)) : hosts.add(word));
  }
  if (hosts.names.empty()) {
    return fail(Errc::kUsage, "no hosts given", "give n0,n1 or n[0-3] or @FILE");
  }
  return std::move(hosts.names);
}

void add_reach_options(Command& command, HostsReach& reach) {
  const Option ssh = command.option("--ssh", reach.ssh, "ssh program to use, with your own options")
                         .value("COMMAND")
                         .shows_default();
  command.option("--via", reach.via, "Command to use instead of ssh; {host} in it becomes the host")
      .value("COMMAND")
      .not_with(ssh);
}

Result<std::unique_ptr<reach::FrontEnd>> reach_hosts(const std::vector<std::string>& words,
                                                     const HostsReach& reach) {
  ODDRANK_TRY(std::vector<std::string> hosts, read_host_list(words));
  const reach::ShellLimits limits{.at_once = reach.at_once};
  if (!reach.via.empty()) {
    return reach::HostsByCommand::make(reach.via, std::move(hosts), limits);
  }
  return std::make_unique<reach::SshHosts>(std::move(hosts), command_words(reach.ssh), limits);
}

}  // namespace oddrank::cli
