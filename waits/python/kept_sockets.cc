#include "waits/python/kept_sockets.h"

#include <algorithm>
#include <set>
#include <string>

#include "cpython/objects/socket_search.h"
#include "waits/python/sampled_thread.h"

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

void read_kept_sockets(PythonSample& python,
                       const std::vector<attach::ThreadState>& states,
                       const ProcessFiles& files,
                       const snapshot::ProcessCapture& process,
                       std::vector<ThreadWait>& waits) {
  SocketSearch search(python.memory(), cpython::SocketHolder::kThread, kMaxSocketOwners);
  std::size_t searched = 0;
  for (std::size_t i = 0; i < std::min(waits.size(), process.threads.size()); ++i) {
    const pid_t tid = process.threads[i].tid;
    const SampledThread* thread =
        tid == process.pid ? nullptr : sampled_thread(python, states, tid);
    if (thread == nullptr || ++searched > kMaxSocketThreads) {
      continue;
    }
    for (const int fd : sockets_of(search, *thread)) {
      std::string link = files.link(fd);
      if (link.starts_with("socket:") && waits[i].kept.size() < snapshot::kMaxKeptSockets) {
        waits[i].kept.push_back(std::move(link));
      }
    }
  }
}

}  // namespace oddrank::waits
