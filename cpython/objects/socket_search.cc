// Sources: Modules/socketmodule.h (sock_fd is the first field of a socket); Lib/asyncio/
// selector_events.py, sslproto.py, trsock.py and Lib/multiprocessing/connection.py of 3.8 to 3.15;
// trio/_socket.py of 0.35.
#include "cpython/objects/socket_search.h"

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "cpython/locals.h"
#include "cpython/objects/attributes.h"
#include "cpython/objects/scalars.h"
#include "cpython/objects/types.h"

namespace oddrank::cpython {
namespace {

constexpr std::size_t kMaxSocketFrames = 32;

int as_descriptor(std::optional<std::int64_t> number) {
  return number && *number >= 0 && *number <= INT32_MAX ? static_cast<int>(*number) : -1;
}

// Returns -1 if the object has no such attribute; `object` may be null.
int number_in(PythonMemory& memory, Addr object, std::string_view attribute) {
  const Addr number = object == Addr{} ? Addr{} : read_attribute(memory, object, attribute);
  return number == Addr{} ? -1 : as_descriptor(read_int(memory, number));
}

}  // namespace

SocketSearch::Kind SocketSearch::by_name(std::string_view type) const {
  if (type == "socket" || type == "_socket.socket" || type == "SSLSocket") {
    return Kind::kSocket;
  }
  // These have many attributes, none of which belongs to a thread or a task.
  if (type == "module" || type == "function" || type == "type") {
    return Kind::kCode;
  }
  if (holder_ == SocketHolder::kThread) {
    return type == "Connection" ? Kind::kConnection : Kind::kOther;
  }
  return type == "TransportSocket" || type == "_SocketType" ? Kind::kWrapped
         : type.ends_with("Transport")                      ? Kind::kTransport
                                                            : Kind::kOther;
}

SocketSearch::Kind SocketSearch::kind_of(Addr value) {
  const Addr type = type_of(memory_, value);
  const auto [at, is_new] = kinds_.try_emplace(value_of(type), Kind::kOther);
  if (is_new && type != Addr{}) {
    at->second = by_name(name_of_type(memory_, type));
  }
  return at->second;
}

// Returns -1 if the value has none.
int SocketSearch::descriptor(Addr value, Kind kind) {
  switch (kind) {
    case Kind::kSocket:
      return as_descriptor(memory_.value<std::int32_t>(value + memory_.layout().object.head));
    case Kind::kWrapped: {
      const Addr inner = read_slot_or_attribute(memory_, value, "_sock");
      return inner == Addr{} ? -1 : descriptor(inner, Kind::kSocket);
    }
    case Kind::kConnection:
      return number_in(memory_, value, "_handle");
    case Kind::kTransport: {
      if (const int own = number_in(memory_, value, "_sock_fd"); own >= 0) {
        return own;
      }
      const Addr tls = read_attribute(memory_, value, "_ssl_protocol");
      return number_in(memory_, tls == Addr{} ? Addr{} : read_attribute(memory_, tls, "_transport"),
                       "_sock_fd");
    }
    default:
      return -1;
  }
}

void SocketSearch::add_attributes(Addr owner, std::vector<int>& found) {
  if (owners_left_ == 0) {
    return;
  }
  --owners_left_;
  const std::size_t before = found.size();
  for (const DictItem& item : read_attributes(memory_, owner)) {
    if (const int fd = descriptor(item.value, kind_of(item.value)); fd >= 0) {
      found.push_back(fd);
    }
  }
  // An event loop has sockets by which it wakes itself.
  if (holder_ == SocketHolder::kTask && found.size() > before &&
      read_attribute(memory_, owner, "_csock") != Addr{}) {
    found.resize(before);
  }
}

std::vector<std::vector<int>> SocketSearch::by_frame(std::span<const RawFrame> frames) {
  std::vector<std::vector<int>> found;
  std::unordered_set<std::uint64_t> seen;
  for (const RawFrame& frame : frames.first(std::min(frames.size(), kMaxSocketFrames))) {
    std::vector<int>& here = found.emplace_back();
    for (const Addr value : read_local_values(memory_, frame)) {
      if (!seen.insert(value_of(value)).second) {
        continue;
      }
      const Kind kind = kind_of(value);
      if (kind == Kind::kOther) {
        add_attributes(value, here);
      } else if (const int fd = descriptor(value, kind); fd >= 0) {
        here.push_back(fd);
      }
    }
  }
  return found;
}

}  // namespace oddrank::cpython
