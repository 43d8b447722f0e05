#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/ask_nodes.h"
#include "cli/commands.h"
#include "cli/host_list.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "cli/terminal/make_report.h"
#include "node/collect/collect_dumps.h"

namespace oddrank::cli {
namespace {

struct HostsOptions {
  std::vector<std::string> hosts;
  HostsReach reach;
  std::string agent;
  std::string select;
  NodeCapture capture;
  OutputOptions output;
};

Result<snapshot::Capture> capture_hosts(const HostsOptions& options) {
  ODDRANK_TRY(const auto front_end, reach_hosts(options.hosts, options.reach));
  NodeQuestion question{{"agent", "--framed"}, options.agent, "hosts", options.output.quiet};
  if (!options.select.empty()) {
    question.command.insert(question.command.end(), {"--select", options.select});
  }
  ODDRANK_TRY(snapshot::Capture whole, capture_nodes(*front_end, question, options.capture));
  node::add_given_dumps(whole, options.capture.fr, true, options.capture.timeout);
  return whole;
}

int run_hosts(const HostsOptions& options) {
  std::string about = "hosts";
  for (const std::string& host : options.hosts) {
    about += " " + host;
  }
  return make_report(
      options.output, about, [&options] { return capture_hosts(options); }, deliver);
}

}  // namespace

void add_hosts_command(Parser& parser) {
  auto options = std::make_shared<HostsOptions>();
  Command command =
      parser.command("hosts", "Diagnose a hung job on several hosts over ssh, without SLURM");
  command
      .option("HOST", options->hosts,
              "Hosts: n0,n1 or n[0-3] or eve@n0, or @FILE with some on each line")
      .required();
  add_reach_options(command, options->reach);
  command
      .option("--agent", options->agent,
              "Path of oddrank on those hosts [same as here; copied if missing]")
      .value("PATH");
  command
      .option("--at-once", options->reach.at_once,
              "Number of hosts to ask at the same time, 1 to 1024")
      .between(1, 1024)
      .shows_default();
  command
      .option("--select", options->select,
              "Choose the job with this name if several run on these hosts; for a SLURM job, its "
              "number is enough")
      .value("NAME");
  add_capture_options(command, options->capture);
  add_output_options(command, options->output);
  add_live_options(command, options->output);
  add_locals_options(command, options->capture, options->output);
  command.footer(
      "ssh must let you in without a password. If oddrank is missing on a host, it is copied "
      "there,\n"
      "run, and removed again. --via takes any command that runs another one on a host; if it "
      "does\n"
      "so without a shell, end it with sh -c.\n\n"
      "Examples:\n"
      "  oddrank hosts n[0-3]                     all ranks of these hosts\n"
      "  oddrank hosts @hostfile --json out.json  hosts from a file, also as JSON\n"
      "  oddrank hosts @$PBS_NODEFILE             in a job of PBS\n"
      "  oddrank hosts $LSB_HOSTS                 in a job of LSF\n"
      "  oddrank hosts n0,n1 --ssh 'ssh -p 2222 -i key'\n"
      "  oddrank hosts n[0-3] --via 'ssh -J bastion {host}'\n"
      "  oddrank hosts $LSB_HOSTS --via 'blaunch {host}'            by LSF itself\n"
      "  oddrank hosts 0 1 2 --via 'flux exec -r {host} sh -c'      ranks of Flux");
  command.runs([options] { return run_hosts(*options); });
}

}  // namespace oddrank::cli
