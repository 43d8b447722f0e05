// Finds NCCL's RAS services on this node: the addresses on which ranks listen, and whether they
// answer.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "snapshot/capture.h"

namespace oddrank::node {

// Ranks of one network namespace that listen at one address.
struct RasService {
  std::string network;  // link of /proc/PID/ns/net
  std::string address;
  std::vector<const snapshot::ProcessCapture*> ranks;  // of the capture
};

// Finds the services from the ranks' environment, NCCL's parameter files, and the ranks' sockets.
// May block if a rank's file system does not answer: call it in a child.
std::vector<RasService> find_ras_services(const snapshot::Capture& capture);

// Moves this process to the service's network namespace: call it in a child. kPermission.
Status enter_network(const RasService& service);

struct RasGreeting {
  std::size_t services = 0;
  std::size_t answered = 0;
  std::string why;  // a service does not answer, or a rank has none because of NCCL_RAS_ENABLE=0
};

// Greets the services without a query, so that only the services' own threads have work to do.
// Returns within `patience`. Precondition: one thread (it forks).
RasGreeting greet_ras_services(const snapshot::Capture& capture,
                               std::chrono::milliseconds patience);

}  // namespace oddrank::node
