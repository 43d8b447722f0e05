#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/deadline.h"
#include "base/isolated.h"
#include "cli/ask_nodes.h"
#include "cli/commands.h"
#include "cli/host_list.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "cli/shipped_copy.h"
#include "node/examine_node.h"
#include "reach/wire/frames.h"
#include "report/doctor.h"
#include "slurm/front_end.h"
#include "snapshot/node_health.h"

namespace oddrank::cli {
namespace {

using snapshot::Answer;
using snapshot::Check;
using snapshot::NodeHealth;

struct DoctorOptions {
  std::string job;
  std::vector<std::string> hosts;
  HostsReach reach;
  std::string send_to;
  std::string json;
  FileMode mode;
  std::string shipped;  // path of this program if it is a copy that was sent; else empty
  std::string run;      // the starter's word for this run (reach/wire/frames.h)
  bool framed = false;  // runs as one node's part
  node::NodeRequest request;
  NodeCapture capture;
};

NodeHealth own_health(const DoctorOptions& options) {
  const auto began = Deadline::Clock::now();
  node::NodeRequest request = options.request;
  request.any_job = true;
  NodeHealth node = node::examine_node(request, options.capture);
  node.host = request.host.empty() ? node::host_name() : request.host;
  node.after =
      std::chrono::duration_cast<std::chrono::milliseconds>(Deadline::Clock::now() - began);
  return node;
}

// Does one node's part: writes its health as frames to stdout.
int answer(DoctorOptions& options) {
  delete_shipped_copy(options.shipped);
  if (options.request.host.empty()) {
    const char* name = std::getenv("SLURMD_NODENAME");  // NOLINT(concurrency-mt-unsafe): one thread
    options.request.host = name == nullptr ? node::host_name() : name;
  }
  const reach::Sender sender{options.request.host, reach::new_stream_id(), options.run};
  send_bytes(STDOUT_FILENO, reach::encode_hello(sender));
  const std::string health = snapshot::encode_health(own_health(options));
  return send_bytes(STDOUT_FILENO, reach::encode_frames(sender, health)) ? kAllRead : kToolFault;
}

Result<NodeAnswers> ask_job(const DoctorOptions& options) {
  slurm::StepOptions step;
  if (!options.send_to.empty()) {
    step.send_to = {options.send_to};
  }
  slurm::SlurmFrontEnd nodes(options.job, std::move(step));
  return ask_nodes(nodes, {{"doctor", "--framed"}}, options.capture);
}

Result<NodeAnswers> ask_hosts(const DoctorOptions& options) {
  ODDRANK_TRY(const auto front_end, reach_hosts(options.hosts, options.reach));
  return ask_nodes(*front_end, {{"doctor", "--framed"}, {}, "hosts"}, options.capture);
}

// Says where the agent of a node that lacks this program was run from, or that it was not.
Check check_program(const reach::NodeAnswer& answer) {
  const std::string shared =
      "put oddrank into a folder that all nodes share, and run it from there";
  if (answer.copied_to.empty()) {
    return {"program", Answer::kNo, "missing, and no copy could run",
            shared + ", or name a folder of the nodes that lets programs run (--send-to)"};
  }
  return {"program", Answer::kOff,
          "a copy in " + answer.copied_to + (answer.from_memory ? ", run from memory" : ""),
          shared + ": otherwise each run sends it to each node"};
}

NodeHealth health_of(const reach::NodeAnswer& answer) {
  NodeHealth node;
  node.why = answer.why;
  if (answer.answered) {
    auto decoded = snapshot::decode_health(answer.payload);
    if (decoded) {
      node = *std::move(decoded);
    } else {
      node.why = decoded.error().what;
    }
  }
  node.host = answer.host;
  node.after = answer.after;
  if (answer.lacks_program) {
    node.checks.insert(node.checks.begin(), check_program(answer));
  }
  return node;
}

ExitStatus doctor_status(const std::vector<NodeHealth>& nodes) {
  std::size_t healthy = 0;
  std::size_t reached = 0;
  for (const NodeHealth& node : nodes) {
    healthy += node.healthy() ? 1 : 0;
    reached += node.reached ? 1 : 0;
  }
  return healthy == nodes.size() ? kAllRead : reached > 0 ? kPartial : kNothingRead;
}

int run_doctor(DoctorOptions& options) {
  if (options.framed) {
    return answer(options);
  }
  std::vector<NodeHealth> nodes;
  if (options.job.empty() && options.hosts.empty()) {
    nodes.push_back(own_health(options));
  } else {
    const auto asked = options.job.empty() ? ask_hosts(options) : ask_job(options);
    if (!asked) {
      return report_error(asked.error());
    }
    for (const reach::NodeAnswer& answer : asked->gathered.nodes) {
      nodes.push_back(health_of(answer));
    }
  }
  report::sort_worst_first(nodes);
  bool written = true;
  if (!options.json.empty()) {
    written = write_output(options.json, report::doctor_json(nodes), options.mode);
  }
  if (options.json != "-") {
    written &= write_output("-", report::doctor_text(nodes, text_options({})), options.mode);
  }
  return written ? doctor_status(nodes) : kToolFault;
}

}  // namespace

void add_doctor_command(Parser& parser) {
  auto options = std::make_shared<DoctorOptions>();
  Command command = parser.command(
      "doctor", "Check, before a hang, that oddrank will work here or on all nodes of a job");
  const Option job =
      command.option("--job", options->job, "Check all nodes of this running SLURM job")
          .value("JOBID");
  command.option("--hosts", options->hosts, "Check these hosts over ssh: n[0-3], or @FILE")
      .value("HOST")
      .not_with(job);
  add_reach_options(command, options->reach);
  add_send_option(command, options->send_to);
  command.option("--json", options->json, "Write the results as JSON; '-' is stdout").value("FILE");
  add_mode_option(command, options->mode);
  command.flag("--framed", options->framed).hidden();
  command.option("--slurm-job", options->request.slurm_job).hidden();
  command.option("--slurm-step", options->request.slurm_step).hidden();
  command.option("--slurm-user", options->request.slurm_user).hidden();
  command.option("--host", options->request.host).hidden();
  command.option("--delete-self", options->shipped).hidden();
  command.option("--run", options->run).hidden();
  add_capture_options(command, options->capture);
  command.footer(
      "Prints one line for each node, the worst first, and below them what to change.\n"
      "Exit status: 0 all nodes are ready, 3 some are not, 4 no node could be reached.\n\n"
      "Examples:\n"
      "  oddrank doctor                  this node\n"
      "  oddrank doctor --job 4711       all nodes of a running job\n"
      "  oddrank doctor --hosts n[0-3]   these hosts, over ssh");
  command.runs([options] { return run_doctor(*options); });
}

}  // namespace oddrank::cli
