// One srun of a gathering: over all nodes, or over one node alone.
#pragma once

#include <poll.h>

#include <csignal>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/deadline.h"
#include "base/programs/child_command.h"
#include "base/result.h"
#include "reach/wire/frames.h"
#include "slurm/launch.h"

namespace oddrank::slurm {

// Move-only.
class Attempt {
 public:
  // `run`: AgentOptions::run.
  static Result<Attempt> start(const AgentStep& step, const std::string& run);

  // Reads pending output. Returns false once srun has exited.
  bool advance();
  bool running() const { return !ended_; }
  // Returns whether srun has exited without our request.
  bool ended_by_itself() const { return ended_ && !terminated_; }
  Deadline::Clock::time_point end() const { return end_; }
  void add_pollfds(std::vector<pollfd>& polled) const { child_.add_pollfds(polled); }
  // Asks srun to end its step. The following output is our doing, so it is not added to words().
  void terminate();
  // Reads pending output and gives up: a running srun is left to exit by itself.
  void leave();

  std::vector<reach::Payload> take_payloads() { return out_.take_complete(); }
  // Returns true once anything came from this attempt's agent on `host`.
  bool heard_of(std::string_view host) const { return out_.heard_of(host); }
  // Returns that agent's last reported activity (reach/wire/frames.h).
  std::string doing_of(std::string_view host) const { return out_.doing_of(host); }
  std::vector<reach::IncompletePayload> incomplete() const { return out_.incomplete(); }
  // Returns sentences on answers that were dropped because of their sender (reach/wire/frames.h).
  const std::vector<std::string>& refusals() const { return out_.refusals(); }

  const std::vector<std::string>& nodes() const { return nodes_; }
  // Returns the path of the program that it runs on the nodes.
  const std::string& program() const { return program_; }
  const std::optional<SentCopy>& copy() const { return copy_; }
  bool covers(std::string_view host) const;
  // Returns what srun wrote until it exited or was terminated.
  const SrunWords& words() const { return words_; }
  // Returns what the agent on `host` (or SLURM in its place) wrote outside of frames.
  std::string agent_text(const std::string& host) const;

 private:
  void take_output(OutputStream stream, std::string_view bytes);
  void conclude();
  void read_words();
  Attempt(ChildCommand child, const AgentStep& step, reach::Speakers speakers)
      : child_(std::move(child)),
        nodes_(step.nodes),
        program_(step.agent_path),
        copy_(step.copy),
        out_(reach::FrameLimits(), std::move(speakers)),
        err_(stderr_limits()) {}
  static reach::FrameLimits stderr_limits();
  // Returns the task number of the host's agent: from frames, else from srun, else by node order.
  int label_of(const std::string& host) const;

  ChildCommand child_;
  std::vector<std::string> nodes_;
  std::string program_;
  std::optional<SentCopy> copy_;
  reach::FrameCollector out_;
  reach::FrameCollector err_;  // only for its labels: no frames come on stderr
  SrunWords words_;
  bool terminated_ = false;
  bool ended_ = false;
  Deadline::Clock::time_point end_;
};

// All attempts of a gathering: the first covers all nodes, each later one a part of them.
using Attempts = std::deque<Attempt>;
// Returns true once anything came from an agent on `host`.
bool any_heard_of(const Attempts& attempts, std::string_view host);

}  // namespace oddrank::slurm
