// Sources: Lib/asyncio/selector_events.py, sslproto.py, streams.py of 3.8 to 3.15;
// Modules/socketmodule.h (sock_fd is the first field of a socket).
#include "cpython/tasks/task_sockets.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "cpython/locals.h"
#include "cpython/objects/attributes.h"
#include "cpython/objects/scalars.h"
#include "cpython/objects/types.h"

namespace oddrank::cpython {
namespace {

constexpr std::size_t kMaxTaskFrames = 32;    // of one task
constexpr std::size_t kMaxTaskOwners = 4096;  // objects whose attributes are read, of one process

// Returns whether the type has many attributes, none of which is the task's.
bool is_code(std::string_view type) {
  return type == "module" || type == "function" || type == "type";
}

int as_descriptor(std::optional<std::int64_t> number) {
  return number && *number >= 0 && *number <= INT32_MAX ? static_cast<int>(*number) : -1;
}

}  // namespace

// Returns that of a socket or a transport; -1 if the value is neither.
int TaskSocketSearch::descriptor(Addr value) {
  const std::string type = type_name(memory_, value);
  if (type == "socket" || type == "_socket.socket" || type == "SSLSocket" ||
      type == "TransportSocket") {
    const Addr inner = type == "TransportSocket" ? read_attribute(memory_, value, "_sock") : value;
    return as_descriptor(memory_.value<std::int32_t>(inner + memory_.layout().object.head));
  }
  if (!type.ends_with("Transport")) {
    return -1;
  }
  if (const Addr number = read_attribute(memory_, value, "_sock_fd"); number != Addr{}) {
    return as_descriptor(read_int(memory_, number));
  }
  const Addr tls = read_attribute(memory_, value, "_ssl_protocol");
  const Addr below = tls == Addr{} ? Addr{} : read_attribute(memory_, tls, "_transport");
  const Addr number = below == Addr{} ? Addr{} : read_attribute(memory_, below, "_sock_fd");
  return number == Addr{} ? -1 : as_descriptor(read_int(memory_, number));
}

std::vector<int> TaskSocketSearch::of_frame(const RawFrame& frame) {
  std::vector<int> found;
  const auto add = [&found](int descriptor) {
    if (descriptor >= 0) {
      found.push_back(descriptor);
    }
  };
  for (const Addr value : read_local_values(memory_, frame)) {
    if (const int own = descriptor(value); own >= 0) {
      add(own);
    } else if (!is_code(type_name(memory_, value)) && owners_++ < kMaxTaskOwners) {
      const std::size_t before = found.size();
      for (const DictItem& item : read_attributes(memory_, value)) {
        add(descriptor(item.value));
      }
      // An event loop has sockets by which it wakes itself.
      if (found.size() > before && read_attribute(memory_, value, "_csock") != Addr{}) {
        found.resize(before);
      }
    }
  }
  return found;
}

TaskSockets TaskSocketSearch::of(const AwaitChain& chain) {
  TaskSockets sockets;
  std::set<int> kept;
  bool in_library = true;  // so far, outwards
  for (std::size_t i = 0; i < std::min(chain.frames.size(), kMaxTaskFrames); ++i) {
    const std::vector<int> found = of_frame(chain.frames[i]);
    in_library =
        in_library && codes_.at(chain.frames[i].code).file.find("/asyncio/") != std::string::npos;
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
