// Agents in the pods of a job on Kubernetes: finds the pods, and starts the same agents as over
// ssh, by kubectl exec.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/deadline.h"
#include "base/programs/child_command.h"
#include "base/result.h"
#include "reach/remote_shells.h"
#include "reach/wire/answers.h"

namespace oddrank::reach {

struct KubectlOptions {
  std::vector<std::string> kubectl{"kubectl"};  // the program and the user's options for it
  std::string name_space = {};                  // "": kubectl's own default
  std::string container = {};                   // "": each pod's default one, or else its first
  // If not "", a debug container of this image is started beside the container (kubectl debug)
  // instead of exec. The image's entrypoint is the agent. Such a container stays in the pod's
  // record.
  std::string debug_image = {};
  std::string debug_profile = "sysadmin";  // its rights (--profile); "": kubectl's default
};

struct Pod {
  std::string name;
  std::string phase;  // "Running"; only such pods are asked
  std::string container;
};

// The pods of a job, or the pods that a label selector matches (one of the two is given).
struct PodChoice {
  std::string job;
  std::string selector;
};

// Starts agents in pods, which are the hosts in reports. The row of a pod that does not run says
// so.
class KubePods : public RemoteShells {
 public:
  // Precondition: `options.kubectl` names a program.
  KubePods(PodChoice choice, KubectlOptions options, ShellLimits limits = {});

  // Lists the pods by kubectl. kNotFound: there is no kubectl, or no such pod; kUsage: a pod lacks
  // the named container; otherwise kubectl's own error.
  Result<snapshot::JobInfo> find_job(const Deadline& deadline) override;
  Result<GatherResult> gather(const AgentOptions& options) const override;

  std::size_t size() const override { return running_.size(); }
  std::string host(std::size_t node) const override { return running_[node].name; }
  bool can_ship() const override { return options_.debug_image.empty(); }
  ProgramCall call(std::size_t node, const AgentOptions& options, bool ship) const override;
  std::string complaint(const ShellFailure& failure) const override;
  Error no_program() const override;

 private:
  std::vector<std::string> kubectl_words(std::vector<std::string> more) const;
  std::vector<std::string> debug_words(const Pod& pod, const AgentOptions& options) const;
  Result<std::string> list_pods(const Deadline& deadline) const;

  PodChoice choice_;
  KubectlOptions options_;
  std::vector<Pod> running_;
  std::vector<Pod> others_;
};

// --- parts, for tests ---

// Parses kubectl's output, one line a pod: name, phase, default container, containers, labels. If
// `job` is not empty, only pods that a label assigns to this job count.
Result<std::vector<Pod>> parse_pods(std::string_view text,
                                    std::string_view job,
                                    std::string_view container);

// Returns why kubectl itself failed; "" if the agent did.
std::string kubectl_complaint(int status, std::string_view said);

}  // namespace oddrank::reach
