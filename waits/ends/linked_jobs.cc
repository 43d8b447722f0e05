#include "waits/ends/linked_jobs.h"

#include <string>
#include <vector>

#include "attach/proc_fds.h"
#include "snapshot/jobs/jobs.h"
#include "waits/ends/read_sockets.h"

namespace oddrank::waits {
namespace {

constexpr std::size_t kMaxRankFds = 4096;

// Each container has a loopback of its own.
std::string with_namespace(const std::string& address, std::size_t network) {
  const bool loops = address.starts_with("127.") || address.starts_with("[::1]");
  return loops ? address + " " + std::to_string(network) : address;
}

}  // namespace

snapshot::JobSets linked_jobs_of_node(const snapshot::Capture& capture) {
  NodeEnds node;
  node.namespace_of.resize(capture.processes.size(), kOutside);
  for (std::size_t i = 0; i < capture.processes.size(); ++i) {
    const pid_t pid = capture.processes[i].pid;
    const auto fds = capture.processes[i].is_rank ? attach::read_fds(pid, kMaxRankFds)
                                                  : Result<std::vector<attach::OpenFd>>({});
    for (const attach::OpenFd& fd : fds.value_or(std::vector<attach::OpenFd>())) {
      if (fd.kind == attach::FdKind::kSocket) {
        node.ends.push_back({fd.inode, true, true, true, i, pid});
      }
    }
  }
  read_sockets(capture, node);
  std::vector<snapshot::JobEnd> ends;
  for (const OpenEnd& end : node.ends) {
    if (const SocketRow* row = node.row_of(end)) {
      const std::size_t network = node.namespace_of[end.process];
      ends.push_back({std::string(capture.tables.text(capture.processes[end.process].job_key)),
                      with_namespace(row->local, network), with_namespace(row->peer, network)});
    }
  }
  return snapshot::linked_jobs(snapshot::job_keys(capture), ends);
}

}  // namespace oddrank::waits
