// Measures what lies between the start of the agents and the verdict, by the number of nodes:
//   verdict_scale RANKS THREADS FOLDER    writes captures of nodes with eight ranks
//   fanout FOLDER [RANKS]                 of each node, at most RANKS ranks are kept
//
// Each node's agent is a process of this machine that sends its capture as the real one does, in
// frames through a pipe; a made-up srun starts them all, and labels and mixes their lines as the
// real one does. So the times cover the start of as many processes, the pipes, and our own work,
// but neither SLURM nor the reading of ranks (bench/fanout_bench.py has both).
#include <poll.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "aggregate/diagnose.h"
#include "base/base_name.h"
#include "base/isolated.h"
#include "base/parse_number.h"
#include "base/read_file.h"
#include "reach/wire/frames.h"
#include "report/report_text.h"
#include "slurm/gather.h"
#include "snapshot/format/capture_file.h"
#include "snapshot/merge.h"

namespace oddrank::bench {
namespace {

using snapshot::Capture;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kMaxCapture = std::size_t{128} << 20;
constexpr const char* kFolderVariable = "ODDRANK_FANOUT";

std::string capture_path(const std::string& folder, std::size_t node) {
  return folder + "/" + std::to_string(node) + ".odd";
}

// The agent of one node: its hello, and its capture.
void run_replayed_agent(const std::string& folder, std::size_t node, int to) {
  const reach::Sender sender{"node" + std::to_string(node), reach::new_stream_id()};
  send_bytes(to, reach::encode_hello(sender));
  const auto bytes = read_file(capture_path(folder, node), kMaxCapture);
  send_bytes(to, reach::encode_frames(sender, bytes.value_or(std::string())));
}

struct Task {
  int from = -1;  // -1: it has ended
  std::string line;
};

// Copies what a task wrote to our stdout, each line with the task's number before it.
void relay(std::size_t number, Task& task) {
  char buffer[65536];
  const ssize_t got = ::read(task.from, buffer, sizeof buffer);
  if (got <= 0) {
    ::close(task.from);
    task.from = -1;
    return;
  }
  std::string out;
  task.line.append(buffer, static_cast<std::size_t>(got));
  std::size_t begin = 0;
  for (auto end = task.line.find('\n'); end != std::string::npos;
       end = task.line.find('\n', begin)) {
    out += std::to_string(number) + ": " + task.line.substr(begin, end + 1 - begin);
    begin = end + 1;
  }
  task.line.erase(0, begin);
  send_bytes(STDOUT_FILENO, out);
}

int run_srun(const std::string& folder) {
  std::vector<Task> tasks;
  for (std::size_t node = 0; std::filesystem::exists(capture_path(folder, node)); ++node) {
    int ends[2] = {-1, -1};
    if (::pipe(ends) != 0) {
      return 1;
    }
    if (::fork() == 0) {
      run_replayed_agent(folder, node, ends[1]);
      ::_exit(0);
    }
    ::close(ends[1]);
    tasks.push_back({ends[0], ""});
  }
  for (std::size_t running = tasks.size(); running > 0;) {
    std::vector<pollfd> polled;
    polled.reserve(tasks.size());
    for (const Task& task : tasks) {
      polled.push_back({task.from, POLLIN, 0});
    }
    ::poll(polled.data(), polled.size(), -1);
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      if (polled[i].revents != 0) {
        relay(i, tasks[i]);
        running -= tasks[i].from < 0 ? 1 : 0;
      }
    }
  }
  while (::wait(nullptr) > 0) {
  }
  return 0;
}

// Copies the captures with at most `ranks` ranks each; returns the number of nodes.
std::size_t trim_captures(const std::string& from, const std::string& to, std::size_t ranks) {
  std::size_t node = 0;
  for (; std::filesystem::exists(capture_path(from, node)); ++node) {
    auto capture = snapshot::decode_capture(
        read_file(capture_path(from, node), kMaxCapture).value_or(std::string()));
    if (!capture) {
      std::fprintf(stderr, "%s\n", capture.error().what.c_str());
      return 0;
    }
    capture->processes.resize(std::min(capture->processes.size(), ranks));
    std::ofstream(capture_path(to, node), std::ios::binary) << snapshot::encode_capture(*capture);
  }
  return node;
}

double since(Clock::time_point began) {
  return std::chrono::duration<double>(Clock::now() - began).count();
}

int measure(std::size_t nodes) {
  slurm::Job job;
  job.id = "1";
  for (std::size_t node = 0; node < nodes; ++node) {
    job.hosts.push_back("node" + std::to_string(node));
  }
  slurm::GatherOptions options;
  options.agent_path = "/usr/bin/oddrank";
  const auto began = Clock::now();
  double first = 0;
  options.progress = [&](const reach::GatherProgress& now) {
    first = now.done > 0 && first == 0 ? since(began) : first;
  };
  const auto gathered = slurm::gather(job, options);
  const double all = since(began);
  if (!gathered || gathered->answered() != nodes) {
    std::fprintf(stderr, "not all nodes answered\n");
    return 1;
  }
  Capture whole;
  snapshot::Merger merger(whole);
  std::size_t bytes = 0;
  for (const reach::NodeAnswer& node : gathered->nodes) {
    bytes += node.payload.size();
    if (auto part = snapshot::decode_capture(node.payload)) {
      merger.add(*std::move(part));
    }
  }
  const double joined = since(began);
  const auto report = aggregate::diagnose(whole);
  const double judged = since(began);
  const std::string text = report::report_text(report, whole, {});
  const double printed = since(began);
  std::printf(
      "%zu nodes, %zu ranks, %.1f KiB a node: first answer %.2f s, all %.2f s, joined +%.2f s, "
      "verdict +%.2f s, text +%.2f s; in all %.2f s\n",
      nodes, whole.processes.size(), static_cast<double>(bytes) / 1024 / static_cast<double>(nodes),
      first, all, joined - all, judged - joined, printed - judged, printed);
  return text.empty() ? 1 : 0;
}

int run_fanout(const std::string& folder, std::size_t ranks) {
  char name[] = "/tmp/oddrank-fanout-XXXXXX";
  if (::mkdtemp(name) == nullptr) {
    return 1;
  }
  const std::string own = name;
  const std::size_t nodes = trim_captures(folder, own, ranks);
  std::filesystem::create_symlink(std::filesystem::read_symlink("/proc/self/exe"), own + "/srun");
  ::setenv("PATH", (own + ":/usr/bin:/bin").c_str(), 1);
  ::setenv(kFolderVariable, own.c_str(), 1);
  const int status = nodes > 0 ? measure(nodes) : 1;
  std::filesystem::remove_all(own);
  return status;
}

}  // namespace
}  // namespace oddrank::bench

int main(int argc, char** argv) {
  const char* folder = ::getenv(oddrank::bench::kFolderVariable);
  if (folder != nullptr && oddrank::base_name(argv[0]) == "srun") {
    return oddrank::bench::run_srun(folder);
  }
  const auto ranks = oddrank::parse_number<std::size_t>(argc > 2 ? argv[2] : "8");
  if (argc < 2 || argc > 3 || !ranks) {
    std::fprintf(stderr, "usage: fanout FOLDER [RANKS]\n");
    return 2;
  }
  return oddrank::bench::run_fanout(argv[1], *ranks);
}
