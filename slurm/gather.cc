#include "slurm/gather.h"

#include <poll.h>

#include <algorithm>
#include <deque>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "base/deadline.h"
#include "base/log.h"
#include "reach/wire/drop_box.h"
#include "reach/wire/frames.h"
#include "slurm/attempt.h"
#include "slurm/client.h"
#include "slurm/explain.h"
#include "slurm/shipment.h"

namespace oddrank::slurm {
namespace {

using std::chrono::milliseconds;

// Time for srun to exit by itself once all nodes have answered, and to react to SIGTERM otherwise
// (some 14 ms, unless a node has not taken its task yet; see ProgramCall::never_kill).
constexpr milliseconds kSrunGrace{300};
constexpr milliseconds kTermGrace{300};
constexpr milliseconds kMaxSrunPoll{20};
constexpr milliseconds kMaxShipment{20000};

class Gathering {
 public:
  Gathering(const Job& job, const GatherOptions& options);

  Result<reach::GatherResult> run();

 private:
  // The work that is left for a node.
  struct NodeState {
    bool asked_alone = false;    // queued for a retry, or already retried
    std::size_t sent_agent = 0;  // in how many ways a copy was run; 0: it has the file
    bool settled = false;        // it has answered, or will not
  };

  AgentStep step_for(std::vector<std::string> nodes, bool whole_job) const;
  static bool cannot_run(const Attempt& attempt, const std::string& host);
  void ship_to(const std::vector<std::string>& nodes);
  bool ship_by(std::size_t way, std::vector<std::string> nodes);
  void remove_copies();
  void pump(milliseconds patience);
  void take(reach::Payload payload);
  void conclude_first(const Attempt& first);
  void conclude_alone(const Attempt& attempt);
  bool ask_silent_alone();
  void ask_alone(std::size_t node);
  void start_queued();
  void stop_all();
  void note_copies();

  void note_doing();
  bool is_late() const;
  std::size_t running() const;
  bool all_settled() const;
  milliseconds elapsed() const {
    return std::chrono::duration_cast<milliseconds>(Deadline::Clock::now() - began_);
  }

  const Job& job_;
  const GatherOptions& options_;
  Deadline::Clock::time_point began_ = Deadline::Clock::now();
  Deadline deadline_;
  Deadline last_deadline_;  // for agents that gave a reason to take longer
  Deadline hedge_;
  bool hedged_ = false;
  reach::GatherResult result_;
  std::vector<NodeState> states_;  // as result_.nodes
  std::map<std::string, std::size_t, std::less<>> index_;
  Attempts attempts_;
  std::deque<std::size_t> queue_;
  std::optional<Error> refusal_;
  std::size_t answers_ = 0;
  std::optional<reach::DropBox> box_;
  std::vector<CopyWay> ways_;
  std::vector<std::string> complaints_;  // of sbcast; they matter if no copy could be run
};

Gathering::Gathering(const Job& job, const GatherOptions& options)
    : job_(job),
      options_(options),
      deadline_(Deadline::after(options.node_timeout + options.slack)),
      last_deadline_(Deadline::after(options.node_timeout + options.longest_delay + options.slack)),
      hedge_(Deadline::after(options.node_timeout * 3 / 10)),
      result_(job.hosts),
      states_(job.hosts.size()),
      ways_(copy_ways(options.send_to.empty() ? copy_folders() : options.send_to)) {
  for (std::size_t i = 0; i < job.hosts.size(); ++i) {
    index_.emplace(job.hosts[i], i);
  }
}

std::size_t Gathering::running() const {
  return static_cast<std::size_t>(std::count_if(
      attempts_.begin(), attempts_.end(), [](const Attempt& each) { return each.running(); }));
}

bool Gathering::all_settled() const {
  return std::all_of(states_.begin(), states_.end(),
                     [](const NodeState& state) { return state.settled; });
}

Result<reach::GatherResult> Gathering::run() {
  if (!options_.shared_folder.empty()) {
    ODDRANK_TRY(box_, reach::DropBox::make(options_.shared_folder));
  }
  auto first = Attempt::start(step_for(job_.hosts, true), options_.run);
  if (!first) {
    return fail(first.error().code == Errc::kNotFound ? no_slurm("srun")
                                                      : std::move(first).error());
  }
  attempts_.push_back(*std::move(first));
  while (!all_settled() && !refusal_ && !is_late() && !options_.is_interrupted()) {
    pump(std::min(last_deadline_.left(), kMaxSrunPoll));
    note_doing();
    if (options_.progress) {
      options_.progress(reach::progress_of(result_.nodes));
    }
    if (!hedged_ && hedge_.passed()) {
      hedged_ = ask_silent_alone();
    }
    start_queued();
    if (running() == 0) {
      break;
    }
  }
  result_.interrupted = options_.is_interrupted() && !all_settled();
  stop_all();
  remove_copies();
  if (refusal_ && answers_ == 0) {
    return fail(std::move(*refusal_).in("job " + job_.id));
  }
  note_copies();
  explain_nodes(result_, attempts_, options_, began_);
  result_.took = elapsed();
  return std::move(result_);
}

AgentStep Gathering::step_for(std::vector<std::string> nodes, bool whole_job) const {
  AgentStep step;
  step.job = job_.id;
  step.nodes = std::move(nodes);
  step.whole_job = whole_job;
  step.parts = job_.parts;
  step.agent_path = options_.agent_path;
  step.agent_args = options_.agent_args;
  if (box_) {
    step.agent_args.insert(step.agent_args.end(), {"--box", box_->folder()});
  }
  // Later than our own deadline, in case we cannot end it.
  step.kill_wait =
      std::chrono::ceil<std::chrono::seconds>(options_.node_timeout + options_.longest_delay) +
      std::chrono::seconds(10);
  return step;
}

void Gathering::note_doing() {
  for (reach::NodeAnswer& node : result_.nodes) {
    for (const Attempt& attempt : attempts_) {
      if (node.answered) {
        break;
      }
      node.heard = node.heard || attempt.heard_of(node.host);
      std::string doing =
          options_.longest_delay == milliseconds(0) ? "" : attempt.doing_of(node.host);
      if (!doing.empty()) {
        node.doing = std::move(doing);
      }
    }
  }
}

// Returns whether all deadlines have passed: silent agents have less time than those that gave a
// reason to take longer.
bool Gathering::is_late() const {
  if (!deadline_.passed() || last_deadline_.passed()) {
    return deadline_.passed();
  }
  for (std::size_t i = 0; i < states_.size(); ++i) {
    if (!states_[i].settled && !result_.nodes[i].doing.empty()) {
      return false;
    }
  }
  return true;
}

// slurmstepd reports it in place of the task: "error: execve(): /x/oddrank: No such file or
// directory", or "Permission denied" if programs may not be run from there.
bool Gathering::cannot_run(const Attempt& attempt, const std::string& host) {
  const std::string said = attempt.agent_text(host);
  const std::string what = "execve(): " + attempt.program() + ": ";
  return said.find(what + "No such file") != std::string::npos ||
         said.find(what + "Permission denied") != std::string::npos;
}

// Sends a copy in the next way that has not been tried on these nodes.
void Gathering::ship_to(const std::vector<std::string>& nodes) {
  std::map<std::size_t, std::vector<std::string>> by_way;
  for (const std::string& node : nodes) {
    by_way[states_[index_.find(node)->second].sent_agent].push_back(node);
  }
  for (auto& [first, group] : by_way) {
    std::size_t way = first;
    while (way < ways_.size() && !ship_by(way, group)) {
      ++way;
    }
    for (const std::string& node : group) {
      NodeState& state = states_[index_.find(node)->second];
      state.sent_agent = way + 1;
      state.settled = state.settled || way >= ways_.size();
    }
  }
}

// Returns false if the folder does not take a copy.
bool Gathering::ship_by(std::size_t way, std::vector<std::string> nodes) {
  const auto& [folder, from_memory] = ways_[way];
  AgentStep step = step_for(std::move(nodes), false);
  const std::string path = folder + "/" + reach::unique_name();
  run_copy(step, {path, way}, from_memory);
  const Status sent = send_program(job_, options_.agent_path, path,
                                   Deadline::after(std::min(deadline_.left(), kMaxShipment)));
  if (!sent) {
    complaints_.push_back(sent.error().what);
    return false;
  }
  auto attempt = Attempt::start(step, options_.run);
  if (!attempt) {
    complaints_.push_back(attempt.error().what);
    return true;
  }
  log_line(LogLevel::kInfo,
           "sent a copy of oddrank to " + folder + (from_memory ? ", to be run from memory" : ""));
  attempts_.push_back(*std::move(attempt));
  return true;
}

// Removes the copies that no agent has deleted: those that could not be run, and those on nodes
// that had the file.
void Gathering::remove_copies() {
  std::vector<AgentStep> removals;
  for (const Attempt& attempt : attempts_) {
    std::vector<std::string> nodes;
    std::copy_if(job_.hosts.begin(), job_.hosts.end(), std::back_inserter(nodes),
                 [&attempt](const std::string& host) { return !attempt.heard_of(host); });
    if (attempt.copy() && !nodes.empty()) {
      removals.push_back(step_for(nodes, nodes.size() == job_.hosts.size()));
      removals.back().agent_path = "/bin/rm";
      removals.back().agent_args = {"-f", "--", attempt.copy()->path};
    }
  }
  run_removals(removals);
}

// Waits for output of any srun and reads it; notices which have exited.
void Gathering::pump(milliseconds patience) {
  std::vector<pollfd> polled;
  for (const Attempt& attempt : attempts_) {
    if (attempt.running()) {
      attempt.add_pollfds(polled);
    }
  }
  ::poll(polled.data(), polled.size(), static_cast<int>(patience.count()));
  for (std::size_t i = 0; i < attempts_.size(); ++i) {
    Attempt& attempt = attempts_[i];
    const bool was_running = attempt.running();
    const bool ended = was_running && !attempt.advance();
    for (reach::Payload& payload : attempt.take_payloads()) {
      take(std::move(payload));
    }
    if (ended) {
      i == 0 ? conclude_first(attempt) : conclude_alone(attempt);
    }
  }
}

void Gathering::take(reach::Payload payload) {
  const auto found = index_.find(payload.host);
  if (found == index_.end()) {
    if (result_.notes.size() < 100) {
      result_.notes.push_back("an answer from " + payload.host +
                              " was dropped: it is not a node of the job");
    }
    return;
  }
  reach::NodeAnswer& node = result_.nodes[found->second];
  if (node.answered) {
    return;  // tried twice, and both agents answered
  }
  if (box_) {
    auto left = box_->open_note(payload.bytes);
    if (!left) {
      result_.notes.push_back(payload.host + ": " + left.error().what);
      return;
    }
    payload.bytes = *std::move(left);
  }
  if (!node.take(std::move(payload), elapsed())) {
    return;
  }
  log_line(LogLevel::kInfo, node.host + " answered after " + std::to_string(node.after.count()) +
                                " ms (" + std::to_string(node.payload.size()) + " bytes)");
  states_[found->second].settled = true;
  ++answers_;
}

// Retries nodes without an answer one by one: when SLURM aborts a step because of one node, healthy
// agents die with it. Does not retry a node whose agent exited by itself, nor a single node whose
// slurmd does not answer: a retry would only find that again after 10 s. (If several do not answer,
// one may be to blame for all: nodes forward SLURM's messages to each other.)
void Gathering::conclude_first(const Attempt& first) {
  const SrunWords& words = first.words();
  if (answers_ == 0 && words.refusal) {
    refusal_ = words.refusal;
    return;
  }
  std::vector<std::string> lacking;
  for (std::size_t i = 0; i < states_.size(); ++i) {
    const std::string& host = result_.nodes[i].host;
    if (!states_[i].settled && cannot_run(first, host)) {
      lacking.push_back(host);
      continue;
    }
    const bool is_the_one =
        words.launch_failures.size() == 1 && words.launch_failures.count(host) == 1;
    if (words.ended_by_itself(host) || is_the_one) {
      states_[i].settled = true;
    } else if (!states_[i].settled) {
      ask_alone(i);
    }
  }
  if (!lacking.empty()) {
    ship_to(lacking);
  }
}

void Gathering::conclude_alone(const Attempt& attempt) {
  const std::size_t tried = attempt.copy() ? attempt.copy()->way + 1 : 0;
  std::vector<std::string> lacking;
  for (const std::string& host : attempt.nodes()) {
    const auto found = index_.find(host);
    if (found != index_.end() && cannot_run(attempt, host)) {
      // A retry without a copy says nothing new of a node that was sent one meanwhile.
      if (!states_[found->second].settled && states_[found->second].sent_agent == tried) {
        lacking.push_back(host);
      }
      continue;
    }
    // The first srun may still have a running agent there.
    if (found != index_.end() &&
        !(attempts_.front().running() && attempts_.front().heard_of(host))) {
      states_[found->second].settled = true;
    }
  }
  if (!lacking.empty()) {
    ship_to(lacking);
  }
}

// Retries nodes that are silent long after most others have started, while the first srun
// continues. Not while most are silent: then SLURM is slow, and more work does not help. Returns
// true if it did.
bool Gathering::ask_silent_alone() {
  std::vector<std::size_t> silent;
  for (std::size_t i = 0; i < states_.size(); ++i) {
    if (!states_[i].settled && !states_[i].sent_agent &&
        !any_heard_of(attempts_, result_.nodes[i].host)) {
      silent.push_back(i);
    }
  }
  if (silent.size() * 2 > states_.size()) {
    return false;
  }
  for (const std::size_t node : silent) {
    ask_alone(node);
  }
  return true;
}

void Gathering::ask_alone(std::size_t node) {
  if (!states_[node].asked_alone) {
    states_[node].asked_alone = true;
    queue_.push_back(node);
  }
}

void Gathering::start_queued() {
  const std::size_t limit = std::max<std::size_t>(options_.retries_at_once, 1) + 1;
  while (!queue_.empty() && running() < limit) {
    const std::size_t node = queue_.front();
    queue_.pop_front();
    if (states_[node].settled || states_[node].sent_agent) {
      continue;
    }
    auto attempt = Attempt::start(step_for({result_.nodes[node].host}, false), options_.run);
    if (!attempt) {
      result_.notes.push_back(attempt.error().what);
      queue_.clear();
      return;
    }
    attempts_.push_back(*std::move(attempt));
  }
}

void Gathering::stop_all() {
  queue_.clear();
  const auto let_end = [this](milliseconds patience) {
    const Deadline deadline = Deadline::after(patience);
    while (running() > 0 && !deadline.passed()) {
      pump(std::min(deadline.left(), milliseconds(5)));
    }
  };
  if (answers_ == result_.nodes.size()) {
    let_end(kSrunGrace);
  }
  for (Attempt& attempt : attempts_) {
    attempt.terminate();
  }
  let_end(kTermGrace);
  for (Attempt& attempt : attempts_) {
    attempt.leave();
    for (reach::Payload& payload : attempt.take_payloads()) {
      take(std::move(payload));
    }
  }
}

// Notes which nodes lack the program, and how a copy was run there.
void Gathering::note_copies() {
  bool all_run = true;
  for (std::size_t i = 0; i < states_.size(); ++i) {
    reach::NodeAnswer& node = result_.nodes[i];
    node.lacks_program = states_[i].sent_agent > 0;
    for (const Attempt& attempt : attempts_) {
      if (attempt.copy() && attempt.heard_of(node.host)) {
        node.copied_to = ways_[attempt.copy()->way].folder;
        node.from_memory = ways_[attempt.copy()->way].from_memory;
      }
    }
    all_run = all_run && (!node.lacks_program || !node.copied_to.empty());
  }
  if (!all_run) {
    result_.notes.insert(result_.notes.end(), complaints_.begin(), complaints_.end());
  }
  const auto notes = copy_notes(result_.nodes, options_.agent_path);
  result_.notes.insert(result_.notes.end(), notes.begin(), notes.end());
}

}  // namespace

Result<reach::GatherResult> gather(const Job& job, const GatherOptions& options) {
  if (job.hosts.empty()) {
    return fail(Errc::kUsage, "job " + job.id + " has no nodes to start agents on");
  }
  if (options.agent_path.empty() || options.agent_path.front() != '/') {
    return fail(Errc::kUsage, "the agent's path must be absolute: " + options.agent_path);
  }
  return Gathering(job, options).run();
}

}  // namespace oddrank::slurm
