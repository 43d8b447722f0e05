#include "aggregate/view/partly_seen.h"

#include <algorithm>

namespace oddrank::aggregate {
namespace {

using snapshot::ProcessCapture;

// Returns "10.0.0.1" of "10.0.0.1:29500".
std::string_view address_part(std::string_view address) {
  return address.substr(0, address.rfind(':'));
}

// A connection to an own address has this address at both ends, or two of the loopback network.
bool is_within_machine(std::string_view local, std::string_view peer) {
  const std::string_view from = address_part(local);
  const std::string_view to = address_part(peer);
  return !from.empty() && (from == to || (is_loopback(from) && is_loopback(to)));
}

bool waits_for_unseen(const JobView& view, const ProcessCapture& process) {
  // Kept are connections whose other end is in no process of their node; it may be in one of
  // another container that was read.
  const auto is_kept = [&process](const snapshot::Wait& wait) {
    return std::any_of(process.connections.begin(), process.connections.end(),
                       [&wait](const snapshot::Connection& each) {
                         return each.local == wait.rare->local && each.peer == wait.rare->peer;
                       });
  };
  return std::any_of(process.threads.begin(), process.threads.end(), [&](const auto& thread) {
    const snapshot::Wait& wait = thread.wait;
    return wait.holder_pid == 0 &&
           is_within_machine(view.text(wait.rare->local), view.text(wait.rare->peer)) &&
           is_kept(wait) && !view.has_other_end(wait);
  });
}

}  // namespace

bool is_loopback(std::string_view host) {
  return host == "localhost" || host.substr(0, 4) == "127." || host == "::1";
}

bool is_partly_seen(const JobView& view) {
  const auto& processes = view.capture().processes;
  return std::any_of(processes.begin(), processes.end(), [&view](const ProcessCapture& process) {
    return process.is_rank && (process.pid == 1 || waits_for_unseen(view, process));
  });
}

}  // namespace oddrank::aggregate
