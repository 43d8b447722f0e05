#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/ask_nodes.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "cli/terminal/make_report.h"
#include "node/collect/collect_dumps.h"
#include "reach/kubectl.h"

namespace oddrank::cli {
namespace {

struct KubeOptions {
  reach::PodChoice pods;
  reach::KubectlOptions reach;
  std::string kubectl = "kubectl";
  std::string agent;
  std::size_t at_once = 64;
  NodeCapture capture;
  OutputOptions output;
};

Result<snapshot::Capture> capture_pods(const KubeOptions& options) {
  reach::KubectlOptions kubectl = options.reach;
  kubectl.kubectl = command_words(options.kubectl);
  if (kubectl.kubectl.empty()) {
    return fail(Errc::kUsage, "--kubectl names no program");
  }
  reach::KubePods pods(options.pods, std::move(kubectl), {.at_once = options.at_once});
  const NodeQuestion question{{"agent", "--framed"}, options.agent, "pods", options.output.quiet};
  ODDRANK_TRY(snapshot::Capture whole, capture_nodes(pods, question, options.capture));
  node::add_given_dumps(whole, options.capture.fr, true, options.capture.timeout);
  return whole;
}

int run_kube(const KubeOptions& options) {
  if (options.pods.job.empty() == options.pods.selector.empty()) {
    return report_error({Errc::kUsage, "needs either a job or --selector",
                         "kubectl get pods --show-labels lists the labels of pods"});
  }
  return make_report(
      options.output,
      options.pods.job.empty() ? "pods " + options.pods.selector : "job " + options.pods.job,
      [&options] { return capture_pods(options); }, deliver);
}

}  // namespace

void add_kube_command(Parser& parser) {
  auto options = std::make_shared<KubeOptions>();
  Command command =
      parser.command("kube", "Diagnose a hung job in the pods of Kubernetes, by kubectl exec");
  command.option(
      "JOB", options->pods.job,
      "Name of a PyTorchJob, MPIJob, JobSet, LeaderWorkerSet, Ray cluster, Volcano job or "
      "Job");
  command.option("-l,--selector", options->pods.selector, "Labels of the pods, instead of a job")
      .value("LABELS");
  command
      .option("-n,--namespace", options->reach.name_space,
              "Their namespace [kubectl's own default]")
      .value("NAME");
  command
      .option("-c,--container", options->reach.container,
              "The container of each pod in which the ranks run [its default, or else its first]")
      .value("NAME");
  command.option("--kubectl", options->kubectl, "kubectl to use, with your own options")
      .value("COMMAND")
      .shows_default();
  command
      .option("--agent", options->agent,
              "Path of oddrank in the containers [same as here; copied if missing]")
      .value("PATH");
  command
      .option("--debug", options->reach.debug_image,
              "Start a container of this image in each pod instead (kubectl debug), for pods whose "
              "containers may not read processes or have no shell")
      .value("IMAGE");
  command
      .option(
          "--debug-profile", options->reach.debug_profile,
          "Profile (rights) of that container; '' for kubectl before 1.27, which has no profiles")
      .value("NAME")
      .shows_default();
  command.option("--at-once", options->at_once, "Number of pods to ask at the same time, 1 to 1024")
      .between(1, 1024)
      .shows_default();
  add_capture_options(command, options->capture);
  add_output_options(command, options->output);
  add_live_options(command, options->output);
  add_locals_options(command, options->capture, options->output);
  command.footer(
      "In the report, pods stand for hosts. If oddrank is missing in a container,\n"
      "it is copied there, run, and removed again. That needs a shell in the image, and the right\n"
      "to read processes: the same user, or root with SYS_PTRACE. You need the right to create\n"
      "pods/exec, or with --debug to patch pods/ephemeralcontainers.\n\n"
      "Examples:\n"
      "  oddrank kube llama -n train                    the pods of the job llama\n"
      "  oddrank kube -l app=llama --html hang.html     pods by their labels\n"
      "  oddrank kube llama --kubectl 'kubectl --context prod'\n"
      "  oddrank kube llama --debug REGISTRY/oddrank    an image of one file: docs/kubernetes.md");
  command.runs([options] { return run_kube(*options); });
}

}  // namespace oddrank::cli
