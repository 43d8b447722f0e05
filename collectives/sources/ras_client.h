// Asks NCCL's RAS service for its status: a line protocol over TCP, one question a connection.
//
// All ranks of a node listen on one address (SO_REUSEPORT), and the kernel chooses who gets a
// connection. A stopped rank's socket is connected to as well, and stays silent: so the first line
// has a second to come, and then another connection is tried.
#pragma once

#include <string>

#include "base/deadline.h"
#include "base/result.h"

namespace oddrank::collectives {

struct RasReply {
  bool json = false;
  std::string text;
};

// `address`: "127.0.0.1:28028", "[::1]:28028"; numbers only. kNotFound: nobody listens there;
// kTimeout: nobody answers; kBadData: what answers is no RAS.
Result<RasReply> ask_ras(const std::string& address, const Deadline& deadline);

// Whether somebody answers there who speaks the protocol; asks nothing. Errors as above.
Status greet_ras(const std::string& address, const Deadline& deadline);

}  // namespace oddrank::collectives
