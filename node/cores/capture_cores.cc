#include "node/cores/capture_cores.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "base/base_name.h"
#include "base/deadline.h"
#include "base/isolated.h"
#include "collectives/find_calls.h"
#include "collectives/join_flight.h"
#include "collectives/number_calls.h"
#include "node/capture_node.h"
#include "node/cores/core_opener.h"
#include "node/cores/read_core.h"
#include "node/isolated_read.h"
#include "node/naming.h"
#include "node/note_lost_python.h"
#include "snapshot/carrier.h"
#include "snapshot/jobs/jobs.h"
#include "snapshot/rewrite.h"
#include "waits/node/join_node.h"

namespace oddrank::node {
namespace {

using snapshot::Capture;
using snapshot::NodeCapture;
using snapshot::ProcessCapture;

// Returns the name of each core in the report: its file name, or its path if two have the same file
// name.
std::vector<std::string> labels_of(const std::vector<std::string>& paths) {
  std::map<std::string_view, int> uses;
  for (const std::string& path : paths) {
    ++uses[base_name(path)];
  }
  std::vector<std::string> labels;
  labels.reserve(paths.size());
  for (const std::string& path : paths) {
    labels.emplace_back(uses[base_name(path)] > 1 ? path : base_name(path));
  }
  return labels;
}

std::vector<Result<Capture>> read_cores(const std::vector<std::string>& paths,
                                        const CoresRequest& request,
                                        const CaptureOptions& options) {
  std::vector<IsolatedTask> tasks;
  tasks.reserve(paths.size());
  for (const std::string& path : paths) {
    tasks.push_back({[&path, &request, &options](int fd) {
                       send_capture(fd, read_core(path, request.sysroot, options.read));
                     },
                     options.timeout});
  }
  std::vector<Result<Capture>> captures;
  for (const IsolatedResult& result : run_isolated(tasks, readers_at_once())) {
    captures.push_back(received_capture(result));
    if (request.progress) {
      request.progress(captures.size(), tasks.size());
    }
  }
  return captures;
}

// Puts the captures of single cores together.
class Gatherer {
 public:
  explicit Gatherer(Capture& whole) : whole_(whole) {}
  void add(const std::string& path, const std::string& label, const Capture& one);
  void add_unread(const std::string& label, const Error& error);
  // Hands the core of a forked worker, which carries its parent's rank, to the parent's core.
  void find_children();
  const std::vector<CoreOfProcess>& cores() const { return cores_; }

 private:
  std::uint32_t node_of(const std::string& host);
  const ProcessCapture* parent_of(const ProcessCapture& process) const;

  Capture& whole_;
  std::map<std::string, std::uint32_t> nodes_;
  std::set<std::pair<std::string, pid_t>> used_;
  std::vector<CoreOfProcess> cores_;
  std::vector<std::pair<ProcessCapture*, const ProcessCapture*>> owners_;
};

void Gatherer::add(const std::string& path, const std::string& label, const Capture& one) {
  const NodeCapture& from = one.nodes.front();
  snapshot::Carrier carrier(one.tables, whole_.tables);
  ProcessCapture process = carrier.row(one.processes.front());
  // In containers, several processes of a host may have the same number.
  const bool known = !from.host.empty() && used_.emplace(from.host, process.pid).second;
  process.node = node_of(known ? from.host : label);
  NodeCapture& node = whole_.nodes[process.node];
  for (const std::string& note : from.notes) {
    node.notes.push_back(note);
    if (known) {
      node.notes.back().insert(0, label + ": ");
    }
  }
  whole_.processes.push_back(std::move(process));
  for (const snapshot::FlightRecord& record : one.collectives.flight) {
    snapshot::FlightRecord carried = carrier.row(record);
    carried.node = whole_.processes.back().node;
    whole_.collectives.flight.push_back(std::move(carried));
  }
  cores_.push_back({one.processes.front().pid, path});
}

void Gatherer::add_unread(const std::string& label, const Error& error) {
  NodeCapture& node = whole_.nodes[node_of(label)];
  node.answered = false;
  node.why = error.what;
}

void Gatherer::find_children() {
  for (ProcessCapture& process : whole_.processes) {
    const ProcessCapture* root = &process;
    for (std::size_t hops = 0; hops < whole_.processes.size(); ++hops) {
      const ProcessCapture* parent = parent_of(*root);
      if (parent == nullptr) {
        break;
      }
      root = parent;
    }
    if (root != &process && root->pid != process.pid) {
      owners_.emplace_back(&process, root);
    }
  }
  for (const auto& [child, owner] : owners_) {
    child->is_rank = false;
    // A fork has a copy of its parent's calls.
    std::erase_if(whole_.collectives.flight, [child = child](const snapshot::FlightRecord& record) {
      return record.node == child->node && record.pid == child->pid;
    });
    child->owner = owner->pid;
    child->node = owner->node;
  }
}

std::uint32_t Gatherer::node_of(const std::string& host) {
  const auto [at, fresh] = nodes_.emplace(host, static_cast<std::uint32_t>(whole_.nodes.size()));
  if (fresh) {
    whole_.nodes.emplace_back();
    whole_.nodes.back().host = host;
    whole_.nodes.back().answered = true;
  }
  return at->second;
}

const ProcessCapture* Gatherer::parent_of(const ProcessCapture& process) const {
  if (!process.is_rank) {
    return nullptr;
  }
  const auto found = std::find_if(
      whole_.processes.begin(), whole_.processes.end(), [&process](const ProcessCapture& one) {
        return one.pid == process.parent && one.is_rank && one.rank == process.rank &&
               one.job_key == process.job_key;
      });
  return found == whole_.processes.end() ? nullptr : &*found;
}

Status check_one_job(const Capture& capture) {
  const std::vector<std::string> keys = snapshot::job_keys(capture);
  if (keys.size() <= 1) {
    return ok();
  }
  std::string list;
  for (const std::string& key : keys) {
    list += (list.empty() ? "" : ", ") + (key.empty() ? std::string("one without a name") : key);
  }
  return fail(Errc::kUsage, "the cores belong to " + std::to_string(keys.size()) + " jobs: " + list,
              "give the cores of one job at a time");
}

// Fills in the facts on which the environments of all ranks agree.
void describe_job(Capture& capture) {
  std::set<std::string_view> ids;
  for (const ProcessCapture& process : capture.processes) {
    capture.job.world_size = std::max(capture.job.world_size, process.world_size);
    for (const auto& [name, value] : process.environment) {
      if (process.is_rank && capture.tables.text(name) == "SLURM_JOB_ID") {
        ids.insert(capture.tables.text(value));
      }
    }
  }
  if (ids.size() == 1) {
    capture.job.id = *ids.begin();
  }
  for (const NodeCapture& node : capture.nodes) {
    capture.job.hosts.push_back(node.host);
  }
}

}  // namespace

Result<Capture> capture_cores(const CoresRequest& request, const CaptureOptions& options) {
  std::vector<std::string> paths = request.paths;
  std::sort(paths.begin(), paths.end());
  paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
  const std::vector<std::string> labels = labels_of(paths);
  const std::vector<Result<Capture>> captures = read_cores(paths, request, options);
  Capture whole;
  whole.job.source = snapshot::JobSource::kCore;
  Gatherer gatherer(whole);
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (captures[i] && captures[i]->nodes.size() == 1 && captures[i]->processes.size() == 1) {
      gatherer.add(paths[i], labels[i], *captures[i]);
    } else if (!captures[i]) {
      gatherer.add_unread(labels[i], captures[i].error());
    }
  }
  if (whole.processes.empty()) {
    return fail(captures.empty() ? Error{Errc::kUsage, "no core file was given", ""}
                                 : captures.front().error());
  }
  gatherer.find_children();
  ODDRANK_TRY_STATUS(check_one_job(whole));
  CoreOpener opener(gatherer.cores(), request.sysroot);
  name_in_child(whole, opener.files());
  if (options.read.python) {
    note_lost_python(whole);
  }
  waits::join_cores(whole);
  collectives::find_calls(whole);
  collectives::join_flight(whole);
  collectives::add_counted_calls(whole);
  if (options.inlines) {
    add_inlines_in_child(whole, options.timeout / 2, opener.files());
  }
  describe_job(whole);
  return snapshot::without_secrets(std::move(whole));
}

}  // namespace oddrank::node
