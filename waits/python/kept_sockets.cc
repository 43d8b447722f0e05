#include "waits/python/kept_sockets.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "cpython/locals.h"
#include "cpython/objects/attributes.h"
#include "cpython/objects/scalars.h"
#include "waits/python/sampled_thread.h"
#include "waits/python/type_kinds.h"

namespace oddrank::waits {
namespace {

using attach::Addr;
using cpython::PythonSample;
using cpython::SampledThread;

constexpr std::size_t kMaxSocketThreads = 256;
constexpr std::size_t kMaxSocketFrames = 32;    // of one thread
constexpr std::size_t kMaxSocketOwners = 1024;  // objects whose attributes are read

enum class SocketKind : std::uint8_t { kOther = 0, kSocket, kConnection, kCode };

constexpr std::array kSocketTypes = {
    TypeName<SocketKind>{"socket", SocketKind::kSocket},
    TypeName<SocketKind>{"_socket.socket", SocketKind::kSocket},
    TypeName<SocketKind>{"SSLSocket", SocketKind::kSocket},
    TypeName<SocketKind>{"Connection", SocketKind::kConnection},
    // Have many attributes, none of which is the thread's.
    TypeName<SocketKind>{"module", SocketKind::kCode},
    TypeName<SocketKind>{"function", SocketKind::kCode},
    TypeName<SocketKind>{"type", SocketKind::kCode},
};

class SocketSearch {
 public:
  explicit SocketSearch(PythonSample& python) : python_(python), kinds_(kSocketTypes) {}

  // Returns their descriptors.
  std::set<int> of(const SampledThread& thread);

 private:
  std::optional<std::int64_t> descriptor(Addr value);
  void add(Addr value, std::set<int>& found);
  void add_attributes(Addr owner, std::set<int>& found);

  PythonSample& python_;
  TypeKinds<SocketKind> kinds_;
  std::size_t owners_ = 0;
};

std::optional<std::int64_t> SocketSearch::descriptor(Addr value) {
  cpython::PythonMemory& memory = python_.memory();
  switch (kinds_.of(python_, value)) {
    case SocketKind::kSocket:
      // sock_fd is the first field of PySocketSockObject (Modules/socketmodule.h).
      return memory.value<std::int32_t>(value + memory.layout().object.head);
    case SocketKind::kConnection:
      return cpython::read_int(memory, cpython::read_attribute(memory, value, "_handle"));
    case SocketKind::kOther:
    case SocketKind::kCode:
      break;
  }
  return std::nullopt;
}

void SocketSearch::add(Addr value, std::set<int>& found) {
  const auto fd = descriptor(value);
  if (fd && *fd >= 0 && *fd <= INT32_MAX) {
    found.insert(static_cast<int>(*fd));
  }
}

void SocketSearch::add_attributes(Addr owner, std::set<int>& found) {
  if (kinds_.of(python_, owner) == SocketKind::kOther && owners_++ < kMaxSocketOwners) {
    for (const auto& item : cpython::read_attributes(python_.memory(), owner)) {
      add(item.value, found);
    }
  }
}

std::set<int> SocketSearch::of(const SampledThread& thread) {
  std::set<int> found;
  std::set<std::uint64_t> seen;
  for (std::size_t i = 0; i < std::min(thread.frames.size(), kMaxSocketFrames); ++i) {
    for (const Addr value : cpython::read_local_values(python_.memory(), thread.frames[i])) {
      if (seen.insert(attach::value_of(value)).second) {
        add(value, found);
        add_attributes(value, found);
      }
    }
  }
  return found;
}

}  // namespace

void read_kept_sockets(PythonSample& python,
                       const std::vector<attach::ThreadState>& states,
                       const ProcessFiles& files,
                       const snapshot::ProcessCapture& process,
                       std::vector<ThreadWait>& waits) {
  SocketSearch search(python);
  std::size_t searched = 0;
  for (std::size_t i = 0; i < std::min(waits.size(), process.threads.size()); ++i) {
    const pid_t tid = process.threads[i].tid;
    const SampledThread* thread =
        tid == process.pid ? nullptr : sampled_thread(python, states, tid);
    if (thread == nullptr || ++searched > kMaxSocketThreads) {
      continue;
    }
    for (const int fd : search.of(*thread)) {
      std::string link = files.link(fd);
      if (link.starts_with("socket:") && waits[i].kept.size() < snapshot::kMaxKeptSockets) {
        waits[i].kept.push_back(std::move(link));
      }
    }
  }
}

}  // namespace oddrank::waits
