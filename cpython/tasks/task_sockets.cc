#include "cpython/tasks/task_sockets.h"

#include <algorithm>
#include <set>
#include <vector>

#include "cpython/tasks/await_members.h"

namespace oddrank::cpython {
TaskSockets find_task_sockets(SocketSearch& search,
                              const CodeCache& codes,
                              const AwaitChain& chain) {
  TaskSockets sockets;
  std::set<int> kept;
  bool in_library = true;  // so far, outwards
  const std::vector<std::vector<int>> by_frame = search.by_frame(chain.frames);
  for (std::size_t i = 0; i < by_frame.size(); ++i) {
    const std::vector<int>& found = by_frame[i];
    in_library = in_library && is_of_event_library(codes.at(chain.frames[i].code).file);
    if (in_library && sockets.awaited < 0 && !found.empty()) {
      sockets.awaited = found.front();
    }
    kept.insert(found.begin(), found.end());
  }
  sockets.kept.assign(kept.begin(), kept.end());
  sockets.kept.resize(std::min(kept.size(), kMaxTaskSockets));
  return sockets;
}

}  // namespace oddrank::cpython
