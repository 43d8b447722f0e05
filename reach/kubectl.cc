#include "reach/kubectl.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "base/programs/run_command.h"
#include "base/split.h"
#include "reach/silence.h"

namespace oddrank::reach {
namespace {

constexpr std::size_t kMaxPods = 65536;
constexpr std::size_t kMaxPodsText = std::size_t{64} << 20;
constexpr int kKubectlFailed = 1;

// The labels by which operators say which job a pod is of: Kubeflow's training operator
// (PyTorchJob, MPIJob and others), its older releases, MPI operator, JobSet, LeaderWorkerSet,
// KubeRay, Volcano, and the Jobs of Kubernetes itself.
constexpr auto kJobLabels = std::to_array<std::string_view>(
    {"training.kubeflow.org/job-name", "pytorch-job-name", "mpi-job-name", "mpi_job_name",
     "jobset.sigs.k8s.io/jobset-name", "leaderworkerset.sigs.k8s.io/name", "ray.io/cluster",
     "ray.io/originated-from-cr-name", "volcano.sh/job-name", "batch.kubernetes.io/job-name",
     "job-name"});

constexpr const char* kPodLines =
    "jsonpath={range .items[*]}{.metadata.name}{\"\\t\"}{.status.phase}{\"\\t\"}"
    "{.metadata.annotations.kubectl\\.kubernetes\\.io/default-container}{\"\\t\"}"
    "{.spec.containers[*].name}{\"\\t\"}{.metadata.labels}{\"\\n\"}{end}";

// `labels` is JSON. Neither names nor values of labels may have characters that JSON escapes.
bool is_of_job(std::string_view labels, std::string_view job) {
  return std::any_of(kJobLabels.begin(), kJobLabels.end(), [&](std::string_view label) {
    const std::string wanted = "\"" + std::string(label) + "\":\"" + std::string(job) + "\"";
    return labels.find(wanted) != std::string_view::npos;
  });
}

}  // namespace

Result<std::vector<Pod>> parse_pods(std::string_view text,
                                    std::string_view job,
                                    std::string_view container) {
  std::vector<Pod> pods;
  for (const std::string_view line : split(text, '\n')) {
    const auto fields = split(line, '\t');
    if (fields.size() < 5 || fields[0].empty() || fields[0].front() == '-' ||
        (!job.empty() && !is_of_job(fields[4], job))) {
      continue;
    }
    const auto containers = split_blanks(fields[3]);
    if (containers.empty()) {
      continue;
    }
    std::string_view chosen = !container.empty()   ? container
                              : !fields[2].empty() ? fields[2]
                                                   : containers.front();
    if (std::find(containers.begin(), containers.end(), chosen) == containers.end()) {
      std::string names;
      for (const std::string_view name : containers) {
        names += " " + std::string(name);
      }
      return fail(Errc::kUsage,
                  "pod " + std::string(fields[0]) + " has no container " + std::string(chosen),
                  "it has" + names);
    }
    pods.push_back({std::string(fields[0]), std::string(fields[1]), std::string(chosen)});
    if (pods.size() > kMaxPods) {
      return fail(Errc::kBadData, "kubectl lists too many pods", "choose some by --selector");
    }
  }
  return pods;
}

std::string kubectl_complaint(int status, std::string_view said) {
  if (status != kKubectlFailed) {
    return "";  // kubectl exits as the command in the pod does
  }
  for (const std::string_view line : split(said, '\n')) {
    if (line.starts_with("error:") || line.starts_with("Error:") ||
        line.starts_with("Error from server") || line.starts_with("Unable to connect") ||
        line.starts_with("The connection to the server")) {
      std::string why = "kubectl: " + std::string(trim(line).substr(0, kMaxComplaint));
      if (why.find("orbidden") != std::string::npos) {
        why += "; you need the right to create pods/exec";
      }
      if (why.find("unknown profile") != std::string::npos) {
        why += "; kubectl before 1.27 needs --debug-profile ''";
      }
      return why;
    }
  }
  return "";
}

KubePods::KubePods(PodChoice choice, KubectlOptions options, ShellLimits limits)
    : RemoteShells(limits), choice_(std::move(choice)), options_(std::move(options)) {}

Result<snapshot::JobInfo> KubePods::find_job(const Deadline& deadline) {
  ODDRANK_TRY(const std::string text, list_pods(deadline));
  ODDRANK_TRY(std::vector<Pod> pods, parse_pods(text, choice_.job, options_.container));
  if (pods.empty()) {
    return fail(
        Errc::kNotFound,
        choice_.job.empty() ? "no pod has the labels " + choice_.selector
                            : "no pod belongs to a job " + choice_.job,
        "kubectl get pods --show-labels lists them; give a namespace by -n, or labels by -l");
  }
  for (Pod& pod : pods) {
    (pod.phase == "Running" ? running_ : others_).push_back(std::move(pod));
  }
  ODDRANK_TRY(snapshot::JobInfo job, RemoteShells::find_job(deadline));
  job.name = choice_.job;
  return job;
}

Result<std::string> KubePods::list_pods(const Deadline& deadline) const {
  std::vector<std::string> words{"get", "pods", "--output", kPodLines};
  if (!choice_.selector.empty()) {
    words.insert(words.end(), {"--selector", choice_.selector});
  }
  ProgramCall call;
  call.argv = kubectl_words(std::move(words));
  auto ran = run_command(call, deadline, kMaxPodsText);
  if (!ran) {
    return fail(ran.error().code == Errc::kNotFound ? no_program() : ran.error());
  }
  if (ran->timed_out) {
    return fail(Errc::kTimeout, "kubectl did not list the pods in time", "try: kubectl get pods");
  }
  if (!ran->exit.success()) {
    const std::string why = kubectl_complaint(ran->exit.code, ran->err);
    const std::string said(trim(ran->err).substr(0, kMaxComplaint));
    const Errc code = why.empty()                                 ? Errc::kIo
                      : why.find("orbidden") != std::string::npos ? Errc::kPermission
                                                                  : Errc::kNotFound;
    return fail(code, why.empty() ? "kubectl get pods failed: " + said : why,
                "try: kubectl get pods");
  }
  return std::move(ran->out);
}

Result<GatherResult> KubePods::gather(const AgentOptions& options) const {
  ODDRANK_TRY(GatherResult result, RemoteShells::gather(options));
  for (const Pod& pod : others_) {
    result.nodes.emplace_back();
    result.nodes.back().host = pod.name;
    result.nodes.back().why = "the pod does not run (" + pod.phase + ")";
  }
  return result;
}

std::vector<std::string> KubePods::kubectl_words(std::vector<std::string> more) const {
  std::vector<std::string> words = options_.kubectl;
  if (!options_.name_space.empty()) {
    words.insert(words.end(), {"--namespace", options_.name_space});
  }
  words.insert(words.end(), std::make_move_iterator(more.begin()),
               std::make_move_iterator(more.end()));
  return words;
}

// What a container says before kubectl has attached to it is lost, so the agent waits for a line on
// its stdin.
std::vector<std::string> KubePods::debug_words(const Pod& pod, const AgentOptions& options) const {
  std::vector<std::string> words{"debug",           pod.name,      "--image", options_.debug_image,
                                 "--target",        pod.container, "--stdin", "--quiet",
                                 "--arguments-only"};
  if (!options_.debug_profile.empty()) {
    words.insert(words.end(), {"--profile", options_.debug_profile});
  }
  words.emplace_back("--");
  words.insert(words.end(), options.agent_args.begin(), options.agent_args.end());
  words.insert(words.end(), {"--after-stdin", "--host", pod.name});
  return words;
}

ProgramCall KubePods::call(std::size_t node, const AgentOptions& options, bool ship) const {
  const Pod& pod = running_[node];
  ProgramCall call;
  if (!options_.debug_image.empty()) {
    call.argv = kubectl_words(debug_words(pod, options));
    call.stdin_stays_open = true;
    return call;
  }
  std::vector<std::string> words{"exec"};
  if (ship) {
    words.emplace_back("--stdin");
  }
  words.insert(words.end(), {pod.name, "--container", pod.container, "--", "/bin/sh", "-c",
                             remote_script(options, pod.name, ship)});
  call.argv = kubectl_words(std::move(words));
  call.stdin_path = ship ? options.agent_path : "";
  return call;
}

std::string KubePods::complaint(const ShellFailure& failure) const {
  return kubectl_complaint(failure.end.code, failure.said);
}

Error KubePods::no_program() const {
  return {Errc::kNotFound, options_.kubectl.front() + " not found",
          "install kubectl, or name another with --kubectl"};
}

}  // namespace oddrank::reach
