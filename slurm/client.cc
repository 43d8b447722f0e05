#include "slurm/client.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "base/ascii.h"
#include "base/programs/run_command.h"
#include "base/split.h"
#include "reach/silence.h"

namespace oddrank::slurm {
namespace {

// Variables that select the cluster and authenticate us. SLURM_CONF_SERVER and SLURM_SACK_* belong
// to "configless" nodes, SLURM_JWT to token authentication.
constexpr std::array<std::string_view, 8> kKept = {
    "SLURM_CONF=", "SLURM_CONF_SERVER=", "SLURM_CLUSTERS=",    "SLURM_JWT=",
    "SLURM_ROOT=", "SLURM_SACK_KEY=",    "SLURM_SACK_SOCKET=", "SLURM_AUTH_SOCKET="};

bool starts_with_any(std::string_view text, const auto& beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [text](std::string_view beginning) { return text.starts_with(beginning); });
}

bool means_nothing(std::string_view line) {
  // Clusters with task/none warn about an option that other clusters need.
  return line.empty() || contains(line, "lacks support for cpu binding") ||
         contains(line, "If munged is up, restart with --num-threads") ||
         contains(line, "got SIGCONT") || contains(line, "forcing job termination");
}

}  // namespace

std::vector<std::string> client_environment(const std::vector<std::string>& environment) {
  constexpr std::array<std::string_view, 3> kDropped = {"SLURM_", "SLURMD_", "SRUN_"};
  std::vector<std::string> kept;
  std::copy_if(environment.begin(), environment.end(), std::back_inserter(kept),
               [&kDropped](const std::string& variable) {
                 return !starts_with_any(variable, kDropped) || starts_with_any(variable, kKept);
               });
  return kept;
}

std::vector<std::string> client_environment() {
  std::vector<std::string> environment;
  for (char** variable = ::environ; variable != nullptr && *variable != nullptr; ++variable) {
    environment.emplace_back(*variable);
  }
  return client_environment(environment);
}

std::string_view without_prefix(std::string_view line) {
  line = reach::without_level(line);
  for (const std::string_view program : {"srun: ", "scontrol: ", "sinfo: "}) {
    if (line.starts_with(program)) {
      return line.substr(program.size());
    }
  }
  return line;
}

std::string first_complaint(std::string_view said) {
  for (const std::string_view line : split(said, '\n')) {
    const std::string_view words = without_prefix(line);
    if (!means_nothing(words)) {
      return std::string(words.substr(0, reach::kMaxComplaint));
    }
  }
  return {};
}

Error no_slurm(std::string_view program) {
  return {Errc::kNotFound, "no SLURM here: " + std::string(program) + " is not on PATH",
          "run this on a login node of the cluster (or load its module), or use `oddrank hosts`"};
}

Error controller_away() {
  return {Errc::kTimeout, "the SLURM controller does not answer",
          "try again later (`scontrol ping` shows whether it is back), or read each node by itself "
          "with `oddrank node`"};
}

Error client_error(std::string_view program, std::string_view said) {
  // "Job 7+1 not found" (scontrol 22.05): a task or component that does not exist.
  if (contains(said, "Invalid job id specified") || contains(said, "Invalid job array") ||
      (contains(said, "Job ") && contains(said, " not found"))) {
    return {Errc::kNotFound, "SLURM does not know this job",
            "`squeue --me` lists your jobs; SLURM forgets ended jobs after some minutes"};
  }
  if (contains(said, "Unable to contact slurm controller") ||
      contains(said, "Connection refused") || contains(said, "Connection timed out") ||
      contains(said, "controller not responding")) {
    return controller_away();
  }
  if (contains(said, "Could not establish a configuration source") ||
      contains(said, "cannot stat file") ||
      contains(said, "Unable to process configuration file")) {
    return {Errc::kNotFound, "no SLURM here: " + std::string(program) + " finds no configuration",
            "run this on a login node of the cluster, or set SLURM_CONF to its slurm.conf"};
  }
  // "'other' can't be reached now, or it is an invalid entry for SLURM_CLUSTERS." (22.05)
  if (contains(said, "it is an invalid entry for") || contains(said, "No cluster '")) {
    return {Errc::kUsage,
            "SLURM_CLUSTERS names a cluster that SLURM does not know, or cannot reach",
            "unset it, or set it to one that `sacctmgr list clusters` lists"};
  }
  if (contains(said, "Munge") || contains(said, "uthentication")) {
    return {Errc::kPermission,
            std::string(program) + " cannot authenticate to SLURM: " + first_complaint(said),
            "munged must run on this machine, with the cluster's key"};
  }
  const std::string words = first_complaint(said);
  if (contains(said, "Access/permission denied") || contains(said, "Invalid account or")) {
    return {Errc::kPermission, std::string(program) + ": " + words, {}};
  }
  return {Errc::kIo, std::string(program) + (words.empty() ? " failed" : ": " + words), {}};
}

Result<std::string> call_client(std::vector<std::string> argv, const Deadline& deadline) {
  const std::string program = argv.empty() ? std::string() : argv.front();
  ProgramCall command;
  command.argv = std::move(argv);
  command.environment = client_environment();
  auto output = run_command(command, deadline.at_most(kClientTimeout));
  if (!output) {
    return output.error().code == Errc::kNotFound ? fail(no_slurm(program))
                                                  : fail(std::move(output).error());
  }
  if (output->timed_out) {
    Error error = client_error(program, output->err);
    return error.code == Errc::kIo ? fail(controller_away()) : fail(std::move(error));
  }
  if (!output->exit.success()) {
    return fail(client_error(program, output->err.empty() ? output->out : output->err));
  }
  return std::move(output->out);
}

}  // namespace oddrank::slurm
