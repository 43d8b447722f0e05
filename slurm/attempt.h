// One srun of a gathering: over all nodes, or over one node alone.
#pragma once

#include <poll.h>

#include <csignal>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/child_command.h"
#include "base/result.h"
#include "slurm/frames.h"
#include "slurm/launch.h"

namespace oddrank::slurm {

// Move-only.
class Attempt {
 public:
  static Result<Attempt> start(const AgentStep& step);

  // Reads what is there; false once srun has ended.
  bool advance();
  bool running() const { return !ended_; }
  void add_pollfds(std::vector<pollfd>& polled) const { child_.add_pollfds(polled); }
  // Asks srun to end its step. What it says from now on is our doing, and no part of words().
  void terminate();
  // Takes what is there and gives up: an srun that has not ended by now is left to end by itself.
  void leave();

  std::vector<Payload> take_payloads() { return out_.take_complete(); }
  // True once this attempt's agent on `host` was heard of.
  bool heard_of(std::string_view host) const { return out_.heard_of(host); }
  std::vector<IncompletePayload> incomplete() const { return out_.incomplete(); }

  const std::vector<std::string>& nodes() const { return nodes_; }
  bool covers(std::string_view host) const;
  // What srun said until it ended, or until it was told to.
  const SrunWords& words() const { return words_; }
  // What the agent on `host` (or SLURM in its place) wrote that is no frame.
  std::string agent_text(const std::string& host) const;

 private:
  void take_output(OutputStream stream, std::string_view bytes);
  void end();
  void read_words();
  Attempt(ChildCommand child, std::vector<std::string> nodes)
      : child_(std::move(child)), nodes_(std::move(nodes)), err_(stderr_limits()) {}
  static FrameLimits stderr_limits();
  // Task number of the host's agent; frames tell, then srun, else the order of the nodes.
  int label_of(const std::string& host) const;

  ChildCommand child_;
  std::vector<std::string> nodes_;
  FrameCollector out_;
  FrameCollector err_;  // for its labels only: no frames come on stderr
  SrunWords words_;
  bool terminated_ = false;
  bool ended_ = false;
};

}  // namespace oddrank::slurm
