// The answers of the nodes, however their agents were started.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "reach/wire/frames.h"

namespace oddrank::reach {

struct NodeAnswer {
  std::string host;
  bool answered = false;
  bool heard = false;  // its agent has started
  // The bytes that the agent passed to encode_frames(); without an answer, its last draft; empty:
  // none.
  std::string payload;
  std::string why;                     // there is no answer: a sentence without the host
  std::chrono::milliseconds after{0};  // when it came, from the start of the gathering
  std::string agent_text;              // the agent's stderr, bounded; may be empty
  std::string doing;                   // why it takes longer, in its agent's words; may be empty
  // The node lacks the program. `copied_to`: the folder of the copy that ran as its agent; empty if
  // none could run.
  bool lacks_program = false;
  std::string copied_to;
  bool from_memory = false;  // the agent was started from memory by python3 (slurm/shipment.h)

  // Stores an answer or a draft. `when`: from the start of the gathering. Returns whether it is the
  // (only) answer.
  bool take(Payload sent, std::chrono::milliseconds when);
};

struct GatherResult {
  std::vector<NodeAnswer> nodes;  // one for each node, in the order of the request
  std::vector<std::string> notes;
  bool interrupted = false;
  std::chrono::milliseconds took{0};

  GatherResult() = default;
  explicit GatherResult(const std::vector<std::string>& hosts);
  std::size_t answered() const;
};

struct GatherProgress {
  std::size_t done = 0;  // nodes that have answered
  std::size_t total = 0;
  // The slowest three: "n3 (not started), n7 (reading), n9 (reading) and 4 more". Nodes whose agent
  // has not started come first. Before the first answer it has only those, and only once half of
  // all agents have started.
  std::string waiting_for;
  std::string doing;  // a node's activity: "waits are young, sampling again (3)"
};

// Called after each answer, and every 20 ms or so between answers.
using ProgressSink = std::function<void(const GatherProgress&)>;

// What every node has to do, however it is reached.
struct AgentOptions {
  std::string agent_path;               // absolute; the same on every node, or copied there
  std::vector<std::string> agent_args;  // "agent --framed ..."; --host and the like are added
  // A random word that the agents repeat in each line, so that another run's answers do not count.
  std::string run = {};
  std::chrono::milliseconds node_timeout{20000};
  // How much later an agent may answer if it gives a reason (NodeAnswer::doing).
  std::chrono::milliseconds longest_delay{0};
  ProgressSink progress;  // may be empty
  // Set by a signal handler: the gathering ends soon, with the answers that have arrived.
  const std::atomic<bool>* interrupted = nullptr;

  bool is_interrupted() const { return interrupted != nullptr && *interrupted; }
  // Returns how long the agent of this node may take.
  std::chrono::milliseconds limit_of(const NodeAnswer& node) const;
};

// Returns the progress that these answers show.
GatherProgress progress_of(const std::vector<NodeAnswer>& nodes);

}  // namespace oddrank::reach
