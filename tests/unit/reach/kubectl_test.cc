#include "reach/kubectl.h"

#include <string>

#include "tests/support/catch.h"

namespace oddrank::reach {
namespace {

std::string pod(const std::string& name,
                const std::string& labels,
                const std::string& chosen = "") {
  return name + "\tRunning\t" + chosen + "\ttrainer sidecar\t{" + labels + "}\n";
}

TEST_CASE("kubectl: a pod is of a job by the label of any operator, and by its whole name") {
  for (const std::string label :
       {"training.kubeflow.org/job-name", "mpi_job_name", "jobset.sigs.k8s.io/jobset-name",
        "leaderworkerset.sigs.k8s.io/name", "ray.io/cluster", "volcano.sh/job-name", "job-name"}) {
    const auto pods = parse_pods(pod("a", "\"x\":\"llama\",\"" + label + "\":\"llama\"") +
                                     pod("b", "\"" + label + "\":\"llama-2\"") + pod("c", ""),
                                 "llama", "");
    INFO(label);
    REQUIRE(pods);
    REQUIRE(pods->size() == 1);
    CHECK(pods->front().name == "a");
  }
}

TEST_CASE("kubectl: the container is the given one, the pod's default, or its first") {
  const std::string text = pod("a", "") + pod("b", "", "sidecar");
  const auto by_itself = parse_pods(text, "", "");
  REQUIRE(by_itself);
  CHECK((*by_itself)[0].container == "trainer");
  CHECK((*by_itself)[1].container == "sidecar");
  const auto given = parse_pods(text, "", "trainer");
  REQUIRE(given);
  CHECK((*given)[1].container == "trainer");
  const auto missing = parse_pods(text, "", "gpu");
  REQUIRE_FALSE(missing);
  CHECK(missing.error().code == Errc::kUsage);
  CHECK(missing.error().what == "pod a has no container gpu");
  CHECK(missing.error().hint == "it has trainer sidecar");
}

TEST_CASE("kubectl: lines that are no pods are left out, and no name becomes an option") {
  const auto pods =
      parse_pods("\nrubbish\n\t\t\t\t\n-n\tRunning\t\tc\t{}\n" + pod("a", ""), "", "");
  REQUIRE(pods);
  CHECK(pods->size() == 1);
}

TEST_CASE("kubectl: its own failures are told from those of the agent") {
  CHECK(kubectl_complaint(127, "command terminated with exit code 127\n").empty());
  CHECK(kubectl_complaint(1, "oddrank: error: a fault\n").empty());
  CHECK(kubectl_complaint(
            1, "W0101 a warning\nError from server (NotFound): pods \"x\" not found\n") ==
        "kubectl: Error from server (NotFound): pods \"x\" not found");
  CHECK(kubectl_complaint(1, "Error from server (Forbidden): pods is forbidden")
            .find("the right to create pods/exec") != std::string::npos);
  CHECK(kubectl_complaint(1, "Error: unknown profile 'sysadmin'\n") ==
        "kubectl: Error: unknown profile 'sysadmin'; kubectl before 1.27 needs --debug-profile ''");
}

}  // namespace
}  // namespace oddrank::reach
