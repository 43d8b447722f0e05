#include "waits/ends/cut_sockets.h"

#include <utility>

#include "base/printable.h"

namespace oddrank::waits {
namespace {

void add_node_note(snapshot::Capture& capture, std::uint32_t node, std::string note) {
  if (node < capture.nodes.size()) {
    capture.nodes[node].notes.push_back(std::move(note));
  }
}

}  // namespace

void note_cut(snapshot::Capture& capture,
              std::size_t process,
              const std::string& has,
              std::size_t kept) {
  const snapshot::ProcessCapture& of = capture.processes[process];
  add_node_note(capture, of.node,
                "pid " + std::to_string(of.pid) + " has " + has + ", of which " +
                    std::to_string(kept) + " are in the report");
}

void note_unread_sockets(const NodeEnds& node, snapshot::Capture& capture) {
  if (node.unread_networks > 0) {
    add_node_note(capture, 0,
                  "the sockets of " + count_of(node.unread_networks, "more network namespace") +
                      " were not read");
  }
  for (const SocketTable& table : node.sockets) {
    if (table.dropped() > 0) {
      add_node_note(capture, 0,
                    count_of(table.dropped(), "socket") + " of " +
                        std::to_string(table.dropped() + table.size()) +
                        " in a network namespace were not read");
    }
  }
}

}  // namespace oddrank::waits
