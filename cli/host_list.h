// The hosts that a user names ("n0,n2", "n[0-3,7]", "eve@n1", or "@file" with such words on each
// line), and how they are reached.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/parser.h"
#include "reach/front_end.h"

namespace oddrank::cli {

// Returns each host once, in the order of first mention. In a file, '#' begins a comment, and
// slot counts (MPI's hostfiles) are ignored. Errors: kNotFound and kPermission (the file), kUsage
// (no host, or text that is not a list of hosts).
Result<std::vector<std::string>> read_host_list(const std::vector<std::string>& words);

struct HostsReach {
  std::string ssh = "ssh";  // the program, with the user's own options
  std::string via;          // a command to use instead; empty: none
  std::size_t at_once = 64;
};

// Adds --ssh and --via.
void add_reach_options(Command& command, HostsReach& reach);

// Returns the front end for these hosts. Errors: those of read_host_list(), and a --via command
// that cannot be used (kUsage).
Result<std::unique_ptr<reach::FrontEnd>> reach_hosts(const std::vector<std::string>& words,
                                                     const HostsReach& reach);

}  // namespace oddrank::cli
