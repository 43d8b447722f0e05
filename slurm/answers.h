// What came back from the nodes, whichever way their agents were started.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace oddrank::slurm {

struct NodeAnswer {
  std::string host;
  bool answered = false;
  std::string payload;                 // the bytes that the agent gave to encode_frames()
  std::string why;                     // not answered: a sentence without the host
  std::chrono::milliseconds after{0};  // since the gathering began
  std::string agent_text;              // the agent's stderr, bounded; may be empty
};

struct GatherResult {
  std::vector<NodeAnswer> nodes;  // one for each that was asked, in that order
  std::vector<std::string> notes;
  bool interrupted = false;
  std::chrono::milliseconds took{0};

  std::size_t answered() const;
};

struct GatherProgress {
  std::size_t done = 0;  // nodes that have answered
  std::size_t total = 0;
  std::string waiting_for;  // "n3, n7": while it is few of many; else empty
};

// Called after each answer, and every few ten milliseconds while there is none.
using ProgressSink = std::function<void(const GatherProgress&)>;

// What is asked of every node, whichever way.
struct AgentOptions {
  std::string agent_path;               // absolute; the same on every node, or sent there
  std::vector<std::string> agent_args;  // "agent --framed ..."; --host and the like are added
  std::chrono::milliseconds node_timeout{20000};
  ProgressSink progress;  // may be empty
  // Set by a signal handler: the gathering ends soon, with what is there.
  const std::atomic<bool>* interrupted = nullptr;
};

GatherProgress progress_of(const std::vector<NodeAnswer>& nodes);

}  // namespace oddrank::slurm
