#include "aggregate/view/partly_seen.h"

#include <algorithm>

#include "snapshot/variable.h"

namespace oddrank::aggregate {
namespace {

using snapshot::address_part;
using snapshot::port_part;
using snapshot::ProcessCapture;

// A connection to an own address has this address at both ends, or two of the loopback network.
bool is_within_machine(std::string_view local, std::string_view peer) {
  const std::string_view from = address_part(local);
  const std::string_view to = address_part(peer);
  return !from.empty() && (from == to || (is_loopback(from) && is_loopback(to)));
}

// Returns whether somebody within the machine whom nobody sees is connected with the store at which
// the ranks of this one's job meet, or has that store. Ranks that have ended are not: the kernel
// has closed their connections.
bool meets_unseen(const JobView& view, const ProcessCapture& process) {
  const auto variable = snapshot::variable_of(view.capture().tables, process, "MASTER_PORT");
  const std::string_view port = variable.value_or(port_part(view.text(process.job_key)));
  return !port.empty() &&
         std::any_of(process.connections.begin(), process.connections.end(),
                     [&](const snapshot::Connection& each) {
                       const std::string_view local = view.text(each.local);
                       const std::string_view peer = view.text(each.peer);
                       return (port_part(local) == port || port_part(peer) == port) &&
                              is_within_machine(local, peer) && !view.has_other_end(each);
                     });
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
    return process.is_rank &&
           (process.pid == 1 || meets_unseen(view, process) || waits_for_unseen(view, process));
  });
}

}  // namespace oddrank::aggregate
