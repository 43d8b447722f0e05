// NCCL's RAS services of this node: which ranks listen where, and whether they answer at all.
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

// By the ranks' environment, NCCL's files of parameters, and the sockets that they have. May block
// where a rank's file system does not answer: to be called in a child.
std::vector<RasService> find_ras_services(const snapshot::Capture& capture);

// The process moves to the service's network namespace: to be called in a child. kPermission.
Status enter_network(const RasService& service);

struct RasGreeting {
  std::size_t services = 0;
  std::size_t answered = 0;
  std::string why;  // one does not answer, or there is none since a rank has NCCL_RAS_ENABLE=0
};

// Whether they answer a greeting. Nothing is asked, so that no rank has anything to do but its own
// service's thread. Returns within `patience`. Precondition: one thread.
RasGreeting greet_ras_services(const snapshot::Capture& capture,
                               std::chrono::milliseconds patience);

}  // namespace oddrank::node
