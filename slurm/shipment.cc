#include "slurm/shipment.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "base/hostlist.h"
#include "base/programs/run_command.h"
#include "base/split.h"
#include "slurm/attempt.h"
#include "slurm/client.h"

namespace oddrank::slurm {
namespace {

// "REQUEST_FILE_BCAST(n1): No such file or directory"
constexpr std::string_view kOfNode = "REQUEST_FILE_BCAST(";

constexpr std::chrono::milliseconds kRemovalPatience{3000};
constexpr std::chrono::milliseconds kMaxPoll{20};
constexpr std::size_t kMaxFolderName = 1024;

// What python3 (3.8 or later) runs: START COPY ARGUMENT... 16 is MFD_EXEC, which Linux 6.3 wants if
// vm.memfd_noexec is 1, and which earlier kernels refuse.
constexpr const char* kStart = R"(import os, sys
try:
    with open(sys.argv[1], "rb") as copy:
        program = copy.read()
    os.unlink(sys.argv[1])
    try:
        memory = os.memfd_create("oddrank", os.MFD_CLOEXEC | 16)
    except OSError:
        memory = os.memfd_create("oddrank", os.MFD_CLOEXEC)
    at = 0
    while at < len(program):
        at += os.write(memory, program[at:at + (1 << 24)])
    os.execv("/proc/self/fd/%d" % memory, ["oddrank"] + sys.argv[2:])
except Exception as error:
    sys.exit("cannot run oddrank from memory: %s" % error)
)";

// Adds the folder if a variable of ours names one.
void add_folder_of(const char* variable, std::vector<std::string>& folders) {
  const char* value = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): one thread
  std::string folder = value == nullptr ? "" : value;
  while (folder.size() > 1 && folder.back() == '/') {
    folder.pop_back();
  }
  if (folder.size() > 1 && folder.front() == '/' && folder.size() <= kMaxFolderName &&
      std::find(folders.begin(), folders.end(), folder) == folders.end()) {
    folders.push_back(std::move(folder));
  }
}

// What sbcast calls the allocation: each component of a heterogeneous job by itself.
std::vector<std::string> allocations(const Job& job) {
  std::vector<std::string> ids;
  for (const HetPart& part : job.parts) {
    ids.push_back(job.id + "+" + std::to_string(part.group));
  }
  return ids.empty() ? std::vector{job.id} : ids;
}

}  // namespace

std::vector<std::string> copy_folders() {
  std::vector<std::string> folders = {"/tmp", "/dev/shm"};
  add_folder_of("SLURM_TMPDIR", folders);
  add_folder_of("TMPDIR", folders);
  folders.push_back("/run/user/" + std::to_string(::geteuid()));
  return folders;
}

std::vector<CopyWay> copy_ways(const std::vector<std::string>& folders) {
  std::vector<CopyWay> ways;
  for (const bool from_memory : {false, true}) {
    for (const std::string& folder : folders) {
      ways.push_back({folder, from_memory});
    }
  }
  return ways;
}

void run_copy(AgentStep& step, SentCopy copy, bool from_memory) {
  const std::string path = copy.path;
  step.copy = std::move(copy);
  if (!from_memory) {
    step.agent_path = path;
    step.agent_args.insert(step.agent_args.end(), {"--delete-self", path});
    return;
  }
  // By env, since python3 may be anywhere in PATH. -I -S: no file of the user's or the site's runs.
  std::vector<std::string> words = {"python3", "-I", "-S", "-c", kStart, path};
  words.insert(words.end(), step.agent_args.begin(), step.agent_args.end());
  step.agent_path = "/usr/bin/env";
  step.agent_args = std::move(words);
}

std::vector<std::string> copy_notes(const std::vector<reach::NodeAnswer>& nodes,
                                    const std::string& program) {
  std::map<std::pair<std::string, bool>, std::vector<std::string>> hosts_of;
  for (const reach::NodeAnswer& node : nodes) {
    if (!node.copied_to.empty()) {
      hosts_of[{node.copied_to, node.from_memory}].push_back(node.host);
    }
  }
  std::vector<std::string> notes;
  notes.reserve(hosts_of.size());
  for (auto& [way, hosts] : hosts_of) {
    notes.push_back(
        program + " is not on " + compress_hosts(std::move(hosts)) +
        ": a copy was sent there, into " + way.first +
        (way.second ? ", and run from memory, because no folder lets programs run" : ""));
  }
  return notes;
}

std::string sbcast_complaint(std::string_view said) {
  std::map<std::string, std::vector<std::string>, std::less<>> hosts_of;
  for (const std::string_view line : split(said, '\n')) {
    const auto at = line.find(kOfNode);
    const auto close = line.find("): ", at);
    if (at != std::string_view::npos && close != std::string_view::npos) {
      const auto host = line.substr(at + kOfNode.size(), close - at - kOfNode.size());
      hosts_of[std::string(line.substr(close + 3))].emplace_back(host);
    }
  }
  std::string words;
  for (const auto& [why, hosts] : hosts_of) {
    words += (words.empty() ? "" : "; ") + compress_hosts(hosts) + ": " + why;
  }
  return words;
}

Status send_program(const Job& job,
                    const std::string& program,
                    const std::string& path,
                    const Deadline& deadline) {
  for (const std::string& id : allocations(job)) {
    ProgramCall call;
    call.argv = {"sbcast", "--force", "-j", id, program, path};
    call.environment = client_environment();
    ODDRANK_TRY(const CommandOutput output, run_command(call, deadline));
    if (output.timed_out) {
      return fail(Errc::kTimeout, "sbcast to " + path + " did not end in time");
    }
    if (!output.exit.success()) {
      const std::string of_nodes = sbcast_complaint(output.err);
      return fail(Errc::kIo, "sbcast to " + path + " failed: " +
                                 (of_nodes.empty() ? first_complaint(output.err) : of_nodes));
    }
  }
  return ok();
}

void run_removals(const std::vector<AgentStep>& steps) {
  std::vector<Attempt> removals;
  for (const AgentStep& step : steps) {
    if (auto removal = Attempt::start(step, {})) {
      removals.push_back(*std::move(removal));
    }
  }
  const Deadline deadline = Deadline::after(kRemovalPatience);
  for (Attempt& removal : removals) {
    while (removal.advance() && !deadline.passed()) {
      std::vector<pollfd> polled;
      removal.add_pollfds(polled);
      ::poll(polled.data(), polled.size(), static_cast<int>(kMaxPoll.count()));
    }
    removal.leave();
  }
}

}  // namespace oddrank::slurm
