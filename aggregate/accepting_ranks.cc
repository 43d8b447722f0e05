#include "aggregate/accepting_ranks.h"

#include <algorithm>
#include <string_view>

#include "aggregate/side_servers.h"
#include "aggregate/words/wait_words.h"

namespace oddrank::aggregate {

using snapshot::AwaitedFile;
using snapshot::Wait;
using snapshot::WaitOn;

namespace {

bool accepts(const JobView& view, const Wait& wait) {
  const auto& awaited = wait.rare->awaited;
  if (wait.how == snapshot::WaitHow::kFiles) {
    return !awaited.empty() && wait.rare->awaited_count == awaited.size() &&
           std::all_of(awaited.begin(), awaited.end(),
                       [](const AwaitedFile& file) { return file.state == snapshot::kTcpListens; });
  }
  return wait.on == WaitOn::kSocket && view.text(wait.syscall_name).starts_with("accept");
}

// Returns whether the wait is for an answer by way of a connection to one of those sockets.
bool leads_to(const JobView& view, const Wait& wait, const Wait& server) {
  if (wait.on != WaitOn::kSocket) {
    return false;
  }
  const auto& listening = server.rare->awaited;
  const std::string_view port = port_of(view.text(wait.rare->peer));
  return (listening.empty() && port.empty()) ||
         std::any_of(listening.begin(), listening.end(), [&](const AwaitedFile& file) {
           return port_of(view.text(file.local)) == port;
         });
}

}  // namespace

std::vector<std::size_t> connected_ranks(const JobView& view, std::size_t at) {
  std::vector<std::size_t> found;
  const RankView& server = view.ranks()[at];
  if (server.leader == nullptr || server.leader->call || !accepts(view, server.leader->wait)) {
    return found;
  }
  for (std::size_t other = 0; other < view.ranks().size(); ++other) {
    const RankView& rank = view.ranks()[other];
    if (other != at && rank.leader != nullptr && !rank.leader->call &&
        leads_to(view, rank.leader->wait, server.leader->wait) &&
        awaited_process(view, *rank.process) == server.process) {
      found.push_back(other);
    }
  }
  return found;
}

}  // namespace oddrank::aggregate
