#include "aggregate/view/partly_seen.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

namespace oddrank::aggregate {
namespace {

using snapshot::Capture;
using snapshot::ProcessCapture;
using snapshot::StringId;
using Ends = std::pair<std::string_view, std::string_view>;  // local, peer

// Returns "10.0.0.1" of "10.0.0.1:29500".
std::string_view address_part(std::string_view address) {
  return address.substr(0, address.rfind(':'));
}

// A connection to an own address has this address at both ends, or two of the loopback network.
bool is_within_machine(const Ends& ends) {
  const std::string_view local = address_part(ends.first);
  const std::string_view peer = address_part(ends.second);
  constexpr std::string_view kLoopback = "127.";
  return !local.empty() &&
         (local == peer || (local.starts_with(kLoopback) && peer.starts_with(kLoopback)));
}

class Connections {
 public:
  explicit Connections(const Capture& capture);

  // Returns whether no process that was read has the other end, also in no other container.
  bool leads_to_unseen(StringId local, StringId peer) const;

 private:
  std::string_view text(StringId id) const { return capture_.tables.text(id); }

  const Capture& capture_;
  std::set<Ends> known_;  // those whose other end is in no process of their node
};

Connections::Connections(const Capture& capture) : capture_(capture) {
  for (const ProcessCapture& process : capture.processes) {
    for (const snapshot::Connection& each : process.connections) {
      known_.emplace(text(each.local), text(each.peer));
    }
  }
}

bool Connections::leads_to_unseen(StringId local, StringId peer) const {
  const Ends ends{text(local), text(peer)};
  return is_within_machine(ends) && known_.contains(ends) &&
         !known_.contains({ends.second, ends.first});
}

bool waits_for_unseen(const ProcessCapture& process, const Connections& connections) {
  return std::any_of(process.threads.begin(), process.threads.end(),
                     [&](const snapshot::ThreadCapture& thread) {
                       return thread.wait.holder_pid == 0 &&
                              connections.leads_to_unseen(thread.wait.local, thread.wait.peer);
                     });
}

}  // namespace

bool is_partly_seen(const Capture& capture) {
  const Connections connections(capture);
  return std::any_of(capture.processes.begin(), capture.processes.end(),
                     [&connections](const ProcessCapture& process) {
                       return process.is_rank &&
                              (process.pid == 1 || waits_for_unseen(process, connections));
                     });
}

}  // namespace oddrank::aggregate
