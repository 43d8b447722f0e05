#include "waits/python/kept_sockets.h"

#include <algorithm>
#include <set>
#include <string>

#include "cpython/objects/socket_search.h"

namespace oddrank::waits {
namespace {

using cpython::PythonSample;
using cpython::SampledThread;
using cpython::SocketSearch;

constexpr std::size_t kMaxSocketThreads = 256;
constexpr std::size_t kMaxSocketOwners = 1024;  // objects whose attributes are read

// Returns the descriptors of the sockets that the thread's frames refer to.
std::set<int> sockets_of(SocketSearch& search, const SampledThread& thread) {
  std::set<int> found;
  for (const std::vector<int>& of_frame : search.by_frame(thread.frames)) {
    found.insert(of_frame.begin(), of_frame.end());
  }
  return found;
}

}  // namespace

void read_kept_sockets(PythonWaits& all, const ProcessFiles& files) {
  SocketSearch search(all.python.memory(), cpython::SocketHolder::kThread, kMaxSocketOwners);
  std::size_t searched = 0;
  for (std::size_t i = 0; i < all.waits.size(); ++i) {
    const pid_t tid = all.process.threads[i].tid;
    const SampledThread* thread = tid == all.process.pid ? nullptr : all.thread(i);
    if (thread == nullptr || ++searched > kMaxSocketThreads) {
      continue;
    }
    for (const int fd : sockets_of(search, *thread)) {
      std::string link = files.link(fd);
      if (link.starts_with("socket:") && all.waits[i].kept.size() < snapshot::kMaxKeptSockets) {
        all.waits[i].kept.push_back(std::move(link));
      }
    }
  }
}

}  // namespace oddrank::waits
