#include "slurm/launch.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/ascii.h"
#include "base/hostlist.h"
#include "base/parse_number.h"
#include "base/span_words.h"
#include "base/split.h"
#include "slurm/client.h"

namespace oddrank::slurm {
namespace {

// "Task launch for StepId=3.6 failed on node n2: Communication connection failure"
bool take_launch_failure(std::string_view line, SrunWords& words) {
  constexpr std::string_view kBefore = " failed on node ";
  const auto at = line.find(kBefore);
  if (!line.starts_with("Task launch for ") || at == std::string_view::npos) {
    return false;
  }
  const std::string_view rest = line.substr(at + kBefore.size());
  const auto colon = rest.find(": ");
  if (colon == std::string_view::npos) {
    return false;
  }
  words.launch_failures.emplace(rest.substr(0, colon), rest.substr(colon + 2));
  return true;
}

// "n2: task 2: Exited with exit code 3", "n[0,2-3]: tasks 0,2-3: Killed"
bool take_exit(std::string_view line, SrunWords& words) {
  const auto colon = line.find(": task");
  const auto second = colon == std::string_view::npos ? colon : line.find(": ", colon + 2);
  if (second == std::string_view::npos) {
    return false;
  }
  const std::string_view task = line.substr(colon + 2, second - colon - 2);
  const std::string_view list = line.substr(0, colon);
  const auto hosts = expand_hosts(list).value_or(std::vector{std::string(list)});
  for (const std::string& host : hosts) {
    words.exits.emplace(host, line.substr(second + 2));
  }
  const auto number = parse_number<int>(task.substr(task.find(' ') + 1));
  if (number && hosts.size() == 1) {
    words.task_hosts.emplace(*number, hosts.front());
  }
  return true;
}

std::optional<Error> refusal_of(std::string_view line) {
  if (contains(line, "Access/permission denied")) {
    return Error{Errc::kPermission, "SLURM refuses to start agents in this job: permission denied",
                 "run oddrank as the job's owner; even root is refused"};
  }
  if (contains(line, "Job is pending execution")) {
    return Error{Errc::kNotFound, "the job waits to be started (again)",
                 "it lost its nodes, perhaps because one of them failed"};
  }
  if (contains(line, "has expired") || contains(line, "already completing or completed")) {
    return Error{Errc::kGone, "the job has ended, or is just ending",
                 "SLURM starts nothing in a job that is being cancelled"};
  }
  if (contains(line, "Invalid job id specified") ||
      contains(line, "Unable to contact slurm controller")) {
    return client_error("srun", line);
  }
  return std::nullopt;
}

// Returns whether the line only accompanies another one, or reports our own action.
bool says_nothing(std::string_view line) {
  return contains(line, "Application launch failed") || contains(line, "Job step aborted") ||
         contains(line, "Force Terminated") || contains(line, "slurm_receive_msgs") ||
         contains(line, "Check SLURM_JOB_ID") || contains(line, "First task exited") ||
         contains(line, "Terminating StepId");
}

std::vector<std::string> common(const std::vector<std::string>& nodes,
                                const std::vector<std::string>& hosts) {
  std::vector<std::string> both;
  std::copy_if(nodes.begin(), nodes.end(), std::back_inserter(both), [&hosts](const auto& node) {
    return std::find(hosts.begin(), hosts.end(), node) != hosts.end();
  });
  return both;
}

// Options for each allocation: a heterogeneous job has one for each component.
void add_component(std::vector<std::string>& argv,
                   const AgentStep& step,
                   const std::vector<std::string>& nodes) {
  const std::string count = std::to_string(nodes.size());
  argv.insert(argv.end(), {"--overlap", "-N", count, "-n", count, "--ntasks-per-node=1",
                           // Takes no resources that ranks might need; only all of the job's memory
                           // as a limit.
                           "--gres=none", "--mem=0", "--cpu-bind=none", "--mpi=none",
                           // Our folder may not exist on the node.
                           "--chdir=/", "-J", "oddrank"});
  if (!step.whole_job) {
    std::string list;
    for (const std::string& node : nodes) {
      list += (list.empty() ? "" : ",") + node;
    }
    argv.insert(argv.end(), {"-w", list});
  }
  argv.push_back(step.agent_path);
  argv.insert(argv.end(), step.agent_args.begin(), step.agent_args.end());
}

}  // namespace

ProgramCall agent_command(const AgentStep& step) {
  ProgramCall command;
  command.argv = {"srun", "--jobid=" + step.job,
                  // Empty stdin: by default srun would send ours to all tasks.
                  "-i", "none",
                  // Labels keep the lines of different nodes whole; see reach/wire/frames.h.
                  "-l",
                  // Neither a failed agent nor a site's WaitTime ends the others.
                  "-K0", "-W", std::to_string(step.kill_wait.count())};
  if (step.parts.empty()) {
    add_component(command.argv, step, step.nodes);
  }
  bool first = true;
  for (const HetPart& part : step.parts) {
    const std::vector<std::string> nodes = common(step.nodes, part.hosts);
    if (nodes.empty()) {
      continue;
    }
    if (!std::exchange(first, false)) {
      command.argv.push_back(":");
    }
    command.argv.push_back("--het-group=" + std::to_string(part.group));
    add_component(command.argv, step, nodes);
  }
  command.environment = client_environment();
  command.never_kill = true;
  return command;
}

// Agents that SLURM or we end die by a signal ("Killed", "Terminated").
bool SrunWords::ended_by_itself(const std::string& host) const {
  const auto exit = exits.find(host);
  return exit != exits.end() && (!aborted || contains(exit->second, "Exited"));
}

std::string end_words(const std::string& complaint, bool heard, std::chrono::milliseconds after) {
  const std::string when = "after " + span_words(after);
  return complaint.empty() ? std::string(heard ? "its agent started, and " : "") + "srun ended " +
                                 when + " without an answer of this node"
                           : "srun: " + complaint + " (it ended " + when + ")";
}

SrunWords parse_srun_words(std::string_view text) {
  SrunWords words;
  for (const std::string_view raw : split(text, '\n')) {
    const std::string_view line = without_prefix(raw);
    if (take_launch_failure(line, words) || take_exit(line, words)) {
      continue;
    }
    words.aborted = words.aborted || contains(line, "Job step aborted");
    if (!words.refusal) {
      words.refusal = refusal_of(line);
    }
    if (words.complaint.empty() && !says_nothing(line)) {
      words.complaint = first_complaint(raw);
    }
  }
  return words;
}

}  // namespace oddrank::slurm
