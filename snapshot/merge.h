// Joins captures: nodes of a job, readers of a node, or several files given to `oddrank report`.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "snapshot/capture.h"

namespace oddrank::snapshot {

// A process by node (index into Capture::nodes), pid and start.
using ProcessKey = std::tuple<std::uint32_t, pid_t, std::uint64_t>;

// Adds captures to one. Of two nodes with the same host, the one that answered is kept. Of two
// processes with the same host, pid and start, the one that was read better, or later, is kept. Job
// facts that the whole lacks are taken from the parts. The order of the parts affects only the
// order of rows.
class Merger {
 public:
  // Keeps a reference to `into`, which no other code may change meanwhile.
  explicit Merger(Capture& into);
  void add(const Capture& from);
  void add(Capture&& from);
  // Adds rows with ids of `into`'s tables.
  void add_rows(CaptureRows rows);

 private:
  void add_job(const JobInfo& job);
  std::vector<std::uint32_t> add_nodes(const std::vector<NodeCapture>& nodes);
  // Adds processes whose `node` is one of into_'s.
  void add_processes(std::vector<ProcessCapture> processes, std::size_t known_nodes);
  void index_processes();
  void add_collectives(CollectiveState rows,
                       const std::vector<std::uint32_t>& nodes,
                       std::size_t known_nodes);

  Capture& into_;
  std::unordered_set<std::string> hosts_;                 // of the job
  std::unordered_map<std::string, std::uint32_t> nodes_;  // host -> index
  std::map<ProcessKey, std::size_t> processes_;           // -> index; the first `indexed_` ones
  std::size_t indexed_ = 0;
};

}  // namespace oddrank::snapshot
