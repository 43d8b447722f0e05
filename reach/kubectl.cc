#include "reach/kubectl.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "base/programs/run_command.h"
#include "base/split.h"
#include "reach/complaints.h"

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

std::vector<std::string> kubectl_words(const KubectlOptions& options,
                                       std::vector<std::string> more) {
  std::vector<std::string> words = options.kubectl;
  if (!options.name_space.empty()) {
    words.insert(words.end(), {"--namespace", options.name_space});
  }
  words.insert(words.end(), std::make_move_iterator(more.begin()),
               std::make_move_iterator(more.end()));
  return words;
}

// `labels` is JSON. Neither names nor values of labels may have characters that JSON escapes.
bool is_of_job(std::string_view labels, std::string_view job) {
  return std::any_of(kJobLabels.begin(), kJobLabels.end(), [&](std::string_view label) {
    const std::string wanted = "\"" + std::string(label) + "\":\"" + std::string(job) + "\"";
    return labels.find(wanted) != std::string_view::npos;
  });
}

Error no_kubectl(const std::string& program) {
  return {Errc::kNotFound, program + " not found",
          "install kubectl, or name another with --kubectl"};
}

class PodShells : public RemoteShells {
 public:
  PodShells(const std::vector<Pod>& pods, const KubectlOptions& options)
      : pods_(pods), options_(options) {}

  std::size_t size() const override { return pods_.size(); }
  std::string host(std::size_t node) const override { return pods_[node].name; }
  bool can_ship() const override { return options_.debug_image.empty(); }
  ProgramCall call(std::size_t node, bool ship) const override;
  std::string complaint(const ProgramEnd& end, std::string_view said) const override {
    return kubectl_complaint(end.code, said);
  }
  Error no_program() const override { return no_kubectl(options_.kubectl.front()); }

 private:
  const std::vector<Pod>& pods_;
  const KubectlOptions& options_;
};

// What a container says before kubectl has attached to it is lost, so the agent waits for a line on
// its stdin.
std::vector<std::string> debug_words(const Pod& pod, const KubectlOptions& options) {
  std::vector<std::string> words{"debug",           pod.name,      "--image", options.debug_image,
                                 "--target",        pod.container, "--stdin", "--quiet",
                                 "--arguments-only"};
  if (!options.debug_profile.empty()) {
    words.insert(words.end(), {"--profile", options.debug_profile});
  }
  words.emplace_back("--");
  words.insert(words.end(), options.agent_args.begin(), options.agent_args.end());
  words.insert(words.end(), {"--after-stdin", "--host", pod.name});
  return words;
}

ProgramCall PodShells::call(std::size_t node, bool ship) const {
  const Pod& pod = pods_[node];
  if (!options_.debug_image.empty()) {
    ProgramCall call;
    call.argv = kubectl_words(options_, debug_words(pod, options_));
    call.stdin_stays_open = true;
    return call;
  }
  std::vector<std::string> words{"exec"};
  if (ship) {
    words.emplace_back("--stdin");
  }
  words.insert(words.end(), {pod.name, "--container", pod.container, "--", "/bin/sh", "-c",
                             remote_script(options_, pod.name, ship)});
  ProgramCall call;
  call.argv = kubectl_words(options_, std::move(words));
  call.stdin_path = ship ? options_.agent_path : "";
  return call;
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

Result<std::vector<Pod>> find_pods(const PodChoice& choice,
                                   const KubectlOptions& options,
                                   const Deadline& deadline) {
  std::vector<std::string> words{"get", "pods", "--output", kPodLines};
  if (!choice.selector.empty()) {
    words.insert(words.end(), {"--selector", choice.selector});
  }
  ProgramCall call;
  call.argv = kubectl_words(options, std::move(words));
  auto ran = run_command(call, deadline, kMaxPodsText);
  if (!ran) {
    return fail(ran.error().code == Errc::kNotFound ? no_kubectl(options.kubectl.front())
                                                    : ran.error());
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
  ODDRANK_TRY(std::vector<Pod> pods, parse_pods(ran->out, choice.job, options.container));
  if (pods.empty()) {
    return fail(
        Errc::kNotFound,
        choice.job.empty() ? "no pod has the labels " + choice.selector
                           : "no pod belongs to a job " + choice.job,
        "kubectl get pods --show-labels lists them; give a namespace by -n, or labels by -l");
  }
  return pods;
}

Result<GatherResult> gather_pods(const std::vector<Pod>& pods, const KubectlOptions& options) {
  std::vector<Pod> running;
  std::copy_if(pods.begin(), pods.end(), std::back_inserter(running),
               [](const Pod& pod) { return pod.phase == "Running"; });
  ODDRANK_TRY(GatherResult result, gather_over(PodShells(running, options), options));
  for (const Pod& pod : pods) {
    if (pod.phase != "Running") {
      result.nodes.emplace_back();
      result.nodes.back().host = pod.name;
      result.nodes.back().why = "the pod does not run (" + pod.phase + ")";
    }
  }
  return result;
}

}  // namespace oddrank::reach
