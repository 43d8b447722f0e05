// Queries NCCL's RAS service for its status: a line protocol over TCP, one query for each
// connection.
//
// All ranks of a node listen on one address (SO_REUSEPORT), and the kernel chooses which one gets a
// connection. A connection to a stopped rank also succeeds, and stays silent: so if the first line
// does not arrive within a second, it tries another connection.
#pragma once

#include <string>

#include "base/deadline.h"
#include "base/result.h"

namespace oddrank::collectives {

struct RasReply {
  bool json = false;
  std::string text;
};

// Returns the status. `address`: "127.0.0.1:28028", "[::1]:28028"; numbers only. kNotFound: no
// process listens there; kTimeout: it does not answer; kBadData: it is not RAS.
Result<RasReply> ask_ras(const std::string& address, const Deadline& deadline);

// Succeeds if the service answers a greeting; queries nothing. Errors as above.
Status greet_ras(const std::string& address, const Deadline& deadline);

}  // namespace oddrank::collectives
