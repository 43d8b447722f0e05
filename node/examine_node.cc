#include "node/examine_node.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attach/permission.h"
#include "base/proc/own_proc.h"
#include "base/read_file.h"
#include "base/version.h"
#include "node/collect/check_recorder.h"
#include "node/collect/collect_hardware.h"
#include "node/collect/ras_services.h"

namespace oddrank::node {
namespace {

using std::chrono::milliseconds;

// A service that is stopped is greeted four times, for a second each.
constexpr milliseconds kGreetPatience{5000};

using snapshot::Answer;
using snapshot::Capture;
using snapshot::Check;
using snapshot::ProcessCapture;
using snapshot::ReadState;
using snapshot::StackEnd;

std::string of_all(std::size_t some, std::size_t all) {
  return std::to_string(some) + " of " + std::to_string(all);
}

std::vector<const ProcessCapture*> ranks_of(const Capture& capture) {
  std::vector<const ProcessCapture*> ranks;
  for (const ProcessCapture& process : capture.processes) {
    if (process.is_rank && process.rank >= 0) {  // not a launcher that waits for other nodes
      ranks.push_back(&process);
    }
  }
  return ranks;
}

Check check_outlook() {
  const Status allowed = attach::may_read_our_users();
  return allowed ? Check{"access", Answer::kYes, "", ""}
                 : Check{"access", Answer::kNo, allowed.error().what, allowed.error().hint};
}

Check check_access(const Capture& capture, const std::vector<const ProcessCapture*>& ranks) {
  std::size_t read = 0;
  const ProcessCapture* refused = nullptr;
  for (const ProcessCapture* rank : ranks) {
    if (rank->read == ReadState::kFull) {
      ++read;
    } else {
      refused = refused == nullptr ? rank : refused;
    }
  }
  if (refused == nullptr) {
    return {"access", Answer::kYes, "", ""};
  }
  const std::string why(capture.tables.text(refused->why));
  const Error reason = attach::why_unreadable(refused->pid);
  return {"access", Answer::kNo,
          of_all(read, ranks.size()) + " read; pid " + std::to_string(refused->pid) + ": " + why,
          reason.hint};
}

Check check_ranks(const Capture& capture, std::size_t found) {
  const std::size_t expected = capture.nodes.front().expected_ranks.size();
  if (expected > found) {
    return {"ranks", Answer::kNo, of_all(found, expected) + " are there",
            "the launcher says that they were started here: see the job's output for why they "
            "ended"};
  }
  return {"ranks", Answer::kYes, std::to_string(found), ""};
}

std::string_view end_words(StackEnd end) {
  switch (end) {
    case StackEnd::kNoUnwindInfo:
      return "no unwind information";
    case StackEnd::kBadMemory:
      return "stack memory cannot be read";
    case StackEnd::kLimit:
      return "longer than the limit";
    default:
      return "cut for an unknown reason";
  }
}

// Checks the main threads. A thread that runs is not a fault of the node, and what check_access
// tells about ranks that may not be read is not told again.
Check check_stacks(const Capture& capture, const std::vector<const ProcessCapture*>& ranks) {
  std::size_t whole = 0;
  std::size_t all = 0;
  StackEnd worst = StackEnd::kUnknown;
  std::string module;
  for (const ProcessCapture* rank : ranks) {
    if (rank->threads.empty() || rank->threads.front().samples.empty()) {
      continue;
    }
    const snapshot::Stack& stack = capture.tables.stack(rank->threads.front().samples.back().stack);
    if (rank->read != ReadState::kFull && stack.frames.empty()) {
      continue;
    }
    ++all;
    if (stack.end == StackEnd::kComplete || stack.end == StackEnd::kRunning ||
        stack.end == StackEnd::kTorn || stack.end == StackEnd::kRunningTorn ||
        stack.end == StackEnd::kGone) {
      ++whole;
    } else {
      worst = stack.end;
    }
  }
  if (all == 0) {
    return {"stacks", Answer::kNo, "none could be read", ""};
  }
  if (whole < all) {
    return {"stacks", Answer::kNo,
            of_all(whole, all) + " whole; the others: " + std::string(end_words(worst)),
            "Python frames are read anyway; native ones end early, see `oddrank node PID`"};
  }
  return {"stacks", Answer::kYes, "whole", ""};
}

Check check_python(const Capture& capture, const std::vector<const ProcessCapture*>& ranks) {
  std::set<std::string_view> versions;
  for (const ProcessCapture* rank : ranks) {
    const std::string_view version = capture.tables.text(rank->python_version);
    if (!version.empty()) {
      versions.insert(version);
    }
  }
  if (versions.empty()) {
    return {"python", Answer::kOff, "no interpreter found", ""};
  }
  std::string list;
  for (const std::string_view version : versions) {
    list += (list.empty() ? "" : " ") + std::string(version);
  }
  return {"python", Answer::kYes, std::move(list), ""};
}

// Checks /proc/PID/task/TID/syscall: if it is missing (an old kernel, gVisor) or refused (a seccomp
// filter), a thread must be stopped for its registers to be read.
Check check_registers(pid_t pid) {
  const std::string process = "/proc/" + std::to_string(pid);
  const auto text = read_file(process + "/task/" + std::to_string(pid) + "/syscall", 256);
  if (text) {
    return {"unstopped", Answer::kYes, "", ""};
  }
  return {"unstopped", Answer::kOff, text.error().what,
          "threads are stopped for a moment to be read, unless --never-stop forbids it"};
}

Check check_ras(const Capture& capture, milliseconds timeout) {
  const RasGreeting greeting = greet_ras_services(capture, std::min(timeout, kGreetPatience));
  if (greeting.services == 0 && !greeting.why.empty()) {
    return {"ras", Answer::kOff, greeting.why,
            "NCCL's RAS would show how many collectives each rank has launched: do not set "
            "NCCL_RAS_ENABLE=0"};
  }
  if (greeting.services == 0) {
    return {"ras", Answer::kOff, "no rank listens", ""};
  }
  if (greeting.answered == greeting.services) {
    return {"ras", Answer::kYes, "answers", ""};
  }
  return {"ras", Answer::kOff, greeting.why, ""};
}

// Checks for NVIDIA's own tool, which captures also run.
Check check_gpus() {
  Capture found;
  found.nodes.emplace_back();
  HardwareReading().add_to(found);
  const std::size_t gpus = found.collectives.devices.size();
  if (gpus > 0) {
    return {"gpus", Answer::kYes, std::to_string(gpus), ""};
  }
  const auto& notes = found.nodes.front().notes;
  return {"gpus", Answer::kOff, notes.empty() ? "no nvidia-smi" : notes.front(), ""};
}

}  // namespace

snapshot::NodeHealth examine_node(const NodeRequest& request, const CaptureOptions& options) {
  snapshot::NodeHealth node;
  node.reached = true;
  node.version = kVersion;
  if (const Status own = check_own_proc(); !own) {
    node.checks.push_back({"access", Answer::kNo, own.error().what, own.error().hint});
    return node;
  }
  CaptureOptions once = options;
  once.until_decided = false;
  once.samples = 1;
  once.beside = false;  // no service is queried, no rank writes a dump
  auto capture = capture_node(request, once);
  if (!capture) {
    node.checks.push_back(check_outlook());
    const bool none = capture.error().code == Errc::kNotFound;
    node.checks.push_back(
        none ? Check{"ranks", Answer::kOff, "none here yet", ""}
             : Check{"ranks", Answer::kNo, capture.error().what, capture.error().hint});
    node.checks.push_back(check_registers(::getpid()));
    node.checks.push_back(check_gpus());
    return node;
  }
  const auto ranks = ranks_of(*capture);
  if (ranks.empty()) {
    node.checks.push_back(check_outlook());
    node.checks.push_back(check_gpus());
    return node;
  }
  node.checks.push_back(check_access(*capture, ranks));
  node.checks.push_back(check_ranks(*capture, ranks.size()));
  node.checks.push_back(check_stacks(*capture, ranks));
  node.checks.push_back(check_python(*capture, ranks));
  node.checks.push_back(check_registers(ranks.front()->pid));
  for (Check& check : check_calls(*capture, options.timeout)) {
    node.checks.push_back(std::move(check));
  }
  node.checks.push_back(check_ras(*capture, options.timeout));
  node.checks.push_back(check_gpus());
  return node;
}

}  // namespace oddrank::node
