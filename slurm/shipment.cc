#include "slurm/shipment.h"

#include <poll.h>

#include <chrono>
#include <map>
#include <utility>
#include <vector>

#include "base/hostlist.h"
#include "base/run_command.h"
#include "base/split.h"
#include "slurm/attempt.h"
#include "slurm/client.h"

namespace oddrank::slurm {
namespace {

// "REQUEST_FILE_BCAST(n1): No such file or directory"
constexpr std::string_view kOfNode = "REQUEST_FILE_BCAST(";

constexpr std::chrono::milliseconds kRemovalPatience{3000};
constexpr std::chrono::milliseconds kMaxPoll{20};

// What sbcast calls the allocation: each component of a heterogeneous job by itself.
std::vector<std::string> allocations(const Job& job) {
  std::vector<std::string> ids;
  for (const HetPart& part : job.parts) {
    ids.push_back(job.id + "+" + std::to_string(part.group));
  }
  return ids.empty() ? std::vector{job.id} : ids;
}

}  // namespace

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
