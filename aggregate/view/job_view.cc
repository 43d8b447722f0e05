#include "aggregate/view/job_view.h"

#include <algorithm>
#include <csignal>
#include <iterator>
#include <limits>
#include <optional>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "aggregate/view/leader.h"
#include "aggregate/view/polling.h"
#include "aggregate/view/remote_calls.h"
#include "base/parse_number.h"
#include "base/printable.h"
#include "snapshot/variable.h"

namespace oddrank::aggregate {

using snapshot::Capture;
using snapshot::JobSource;
using snapshot::NodeCapture;
using snapshot::PollOn;
using snapshot::ProcessCapture;
using snapshot::ReadState;
using snapshot::ThreadSample;

namespace {

// A larger world size is a damaged number, not a job.
constexpr std::int32_t kMaxWorld = 1 << 17;

// Returns whether the node was read completely: then a rank that was not found there does not
// exist.
bool was_looked_at(const NodeCapture& node) {
  return node.answered && node.why.empty();
}

std::int32_t number_variable(const Capture& capture,
                             const ProcessCapture& process,
                             std::string_view name) {
  const auto text = snapshot::variable_of(capture.tables, process, name);
  return text ? parse_number<std::int32_t>(*text).value_or(-1) : -1;
}

// Picks the better of two processes that both claim to be this rank: a leftover must not hide the
// rank.
bool better(const ProcessCapture& a, const ProcessCapture& b) {
  const auto worth = [](const ProcessCapture& process) {
    return std::tuple(!is_dead(process), process.read, process.start_us);
  };
  return worth(a) > worth(b);
}

Presence presence_of(const ProcessCapture& process) {
  if (is_dead(process)) {
    return Presence::kDead;
  }
  switch (process.read) {
    case ReadState::kFull:
      return Presence::kRead;
    case ReadState::kPartial:
      return Presence::kPartial;
    case ReadState::kNone:
      break;
  }
  // Returns whether /proc gave a state letter.
  return process.state == '?' ? Presence::kUnread : Presence::kPartial;
}

std::int32_t world_size(const Capture& capture) {
  std::int32_t size = capture.job.world_size;
  for (const ProcessCapture& process : capture.processes) {
    if (process.is_rank && capture.job.world_size <= 0) {
      size = std::max(size, process.world_size);
    }
  }
  return size > 0 && size <= kMaxWorld ? size : -1;
}

bool is_loopback(std::string_view address) {
  return address == "localhost" || address.substr(0, 4) == "127." || address == "::1";
}

// Returns the ranks that must be on the node of `process`, according to its launcher; empty if
// unknown.
std::pair<std::int32_t, std::int32_t> local_range(const Capture& capture,
                                                  const ProcessCapture& process,
                                                  std::int32_t world) {
  // A job without variables has the address at which its ranks meet for its name.
  const std::string_view job = capture.tables.text(process.job_key);
  const auto address = snapshot::variable_of(capture.tables, process, "MASTER_ADDR");
  if (is_loopback(address.value_or(job.substr(0, job.rfind(':'))))) {
    return {0, world};  // all ranks are on this machine
  }
  const std::int32_t local_world = number_variable(capture, process, "LOCAL_WORLD_SIZE");
  if (local_world <= 0 || local_world > world || process.rank < 0 || process.local_rank < 0 ||
      process.local_rank > process.rank) {
    return {0, 0};
  }
  // Launchers number ranks node by node; if LOCAL_WORLD_SIZE == world, these are all of them.
  const std::int32_t base = process.rank - process.local_rank;
  return {base, std::min(world, base + local_world)};
}

// Returns on how many nodes the job runs, by what launchers tell its processes; 0 if none does.
std::size_t nodes_told(const Capture& capture, std::int32_t world) {
  std::int32_t nodes = 0;
  for (const ProcessCapture& process : capture.processes) {
    if (!process.is_rank) {
      continue;
    }
    for (const std::string_view name : {"GROUP_WORLD_SIZE", "SLURM_NNODES"}) {
      nodes = std::max(nodes, number_variable(capture, process, name));
    }
    const std::int32_t local_world = number_variable(capture, process, "LOCAL_WORLD_SIZE");
    if (local_world > 0 && local_world <= world) {
      nodes = std::max(nodes, (world + local_world - 1) / local_world);
    }
  }
  return static_cast<std::size_t>(nodes);
}

bool has_moved(const snapshot::GroupCounter& counter) {
  return (counter.collectives_before >= 0 && counter.collectives > counter.collectives_before) ||
         (counter.transfers_before >= 0 && counter.transfers > counter.transfers_before);
}

// Returns whether the leader has made a call between the samples: in the group of the call that it
// is in, or in any group if no other thread makes calls.
bool has_made_calls(const RankView& rank) {
  const auto& call = rank.leader->call;
  if (!call && !rank.beside.empty()) {
    return false;
  }
  const auto& groups = rank.process->groups;
  return std::any_of(groups.begin(), groups.end(), [&](const snapshot::ProcessGroup& group) {
    const bool meant = !call || is_group_of(group, *call);
    return meant && std::any_of(group.counters.begin(), group.counters.end(), has_moved);
  });
}

}  // namespace

bool is_dead(const ProcessCapture& process) {
  return process.state == 'Z' || process.state == 'X';
}

char RankView::state() const {
  if (sample() != nullptr && sample()->state != '?') {
    return sample()->state;
  }
  return process == nullptr ? '?' : process->state;
}

const ThreadSample* RankView::sample() const {
  return leader == nullptr || leader->samples.empty() ? nullptr : &leader->samples.back();
}

bool RankView::stays_stopped() const {
  const auto stopped = [](char state) { return state == 'T' || state == 't'; };
  if (leader == nullptr || leader->samples.empty()) {
    return process != nullptr && stopped(process->state);
  }
  return std::all_of(leader->samples.begin(), leader->samples.end(),
                     [&stopped](const ThreadSample& each) { return stopped(each.state); });
}

bool RankView::crashed() const {
  if (process == nullptr || !process->crash.is_own(process->pid) ||
      process->ending != snapshot::Ending::kNone) {
    return false;
  }
  const bool by_leader = leader != nullptr && leader->tid == process->crash.tid && !leader->call;
  return process->crash.signal != SIGABRT || by_leader;
}

JobView::JobView(const Capture& capture, FrameModel& model) : capture_(capture), model_(model) {
  count_nodes();
  add_processes();
  add_missing_ranks();
  std::sort(ranks_.begin(), ranks_.end(), [](const RankView& a, const RankView& b) {
    return std::tuple(a.rank, a.host, a.pid()) < std::tuple(b.rank, b.host, b.pid());
  });
  for (std::size_t at = 0; at < ranks_.size(); ++at) {
    if (ranks_[at].rank >= 0) {
      by_rank_.emplace(ranks_[at].rank, at);
    }
    if (ranks_[at].process != nullptr) {
      by_process_.emplace(ranks_[at].process, at);
    }
  }
  take_servers();
  take_records();
}

// Finds the rank that the callers of RPCs wait for, if only one can be meant: if several run
// functions for others, no frame tells whose call is whose.
void JobView::take_servers() {
  std::vector<RankView*> callers;
  std::vector<std::pair<std::size_t, const snapshot::ThreadCapture*>> servers;
  for (std::size_t at = 0; at < ranks_.size(); ++at) {
    RankView& rank = ranks_[at];
    if (rank.presence != Presence::kRead || rank.sample() == nullptr) {
      return;  // it may be the one
    }
    if (calls_remotely(model_, *rank.leader)) {
      callers.push_back(&rank);
    } else if (const auto* thread = serving_thread(model_, *rank.process)) {
      servers.emplace_back(at, thread);
    }
  }
  if (callers.empty() || servers.size() != 1) {
    return;
  }
  RankView& server = ranks_[servers.front().first];
  server.leader = servers.front().second;
  server.beside = find_beside(*server.process, *server.leader, model_);
  take_poll(server);
  for (RankView* caller : callers) {
    caller->server = servers.front().first;
  }
}

void JobView::take_records() {
  for (const snapshot::FlightRecord& record : capture_.collectives.flight) {
    const std::size_t at = record.from_memory ? index_of(record.rank) : kNone;
    if (at == kNone || ranks_[at].process == nullptr || ranks_[at].process->pid != record.pid ||
        ranks_[at].process->node != record.node) {
      continue;
    }
    ranks_[at].recorded = &record;
  }
}

void JobView::count_nodes() {
  std::set<std::string> hosts(capture_.job.hosts.begin(), capture_.job.hosts.end());
  std::set<std::string> answered;
  for (const NodeCapture& node : capture_.nodes) {
    hosts.insert(node.host);
    if (node.answered) {
      answered.insert(node.host);
    }
  }
  nodes_expected_ = hosts.size();
  nodes_answered_ = answered.size();
}

void JobView::add_processes() {
  std::map<std::int32_t, const ProcessCapture*> chosen;
  std::map<std::pair<std::uint32_t, pid_t>, std::vector<const ProcessCapture*>> children;
  std::vector<const ProcessCapture*> mains;
  for (const ProcessCapture& process : capture_.processes) {
    by_pid_.emplace(std::pair(process.node, process.pid), &process);
    add_connections(process);
    if (!process.is_rank && process.owner != process.pid && process.owner != 0) {
      children[{process.node, process.owner}].push_back(&process);
      continue;
    }
    if (process.rank < 0) {
      mains.push_back(&process);
      continue;
    }
    const auto [at, is_new] = chosen.emplace(process.rank, &process);
    if (!is_new) {
      const bool wins = better(process, *at->second);
      const ProcessCapture& loser = wins ? *at->second : process;
      notes_.push_back(fmt::format("rank {} appears twice: pid {} on {} was left out", process.rank,
                                   loser.pid, host(loser)));
      at->second = wins ? &process : at->second;
    }
  }
  for (const auto& entry : chosen) {
    mains.push_back(entry.second);
  }
  std::uint64_t first = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t last = 0;
  for (const ProcessCapture* process : mains) {
    RankView view;
    view.rank = process->rank;
    view.host = host(*process);
    view.process = process;
    view.presence = presence_of(*process);
    view.why = printable(text(process->why));
    if (const auto at = children.find({process->node, process->pid}); at != children.end()) {
      view.children = at->second;
      std::sort(view.children.begin(), view.children.end(),
                [](const auto* a, const auto* b) { return a->pid < b->pid; });
    }
    view.leader = find_leader(*process, model_);
    if (view.leader != nullptr) {
      view.beside = find_beside(*process, *view.leader, model_);
      take_poll(view);
    }
    if (process->read_us != 0) {
      first = std::min(first, process->read_us);
      last = std::max(last, process->read_us);
    }
    ranks_.push_back(std::move(view));
  }
  skew_us_ = last > first ? last - first : 0;
}

// Looks what the leader polls for. If another thread of the process is to give it, and one is in a
// call of a communication library, that thread speaks for the rank.
void JobView::take_poll(RankView& rank) {
  const auto poll = rank.leader->call ? std::nullopt : poll_of(*this, *rank.leader);
  rank.polls = poll ? std::optional(poll->on) : std::nullopt;
  const bool of_thread = rank.polls == PollOn::kThread || rank.polls == PollOn::kEvent ||
                         rank.polls == PollOn::kQueue || rank.polls == PollOn::kLock;
  if (of_thread && !rank.beside.empty()) {
    rank.leader = rank.beside.front();
    rank.beside = find_beside(*rank.process, *rank.leader, model_);
    rank.polls.reset();
  }
  rank.motion = measure_motion(*rank.leader, model_);
  add_main_motion(rank);
  // Equal frames in two samples may belong to two iterations; the count of calls tells them apart.
  if (rank.motion.measured && has_made_calls(rank)) {
    (rank.leader->call ? rank.motion.stack : rank.motion.locals) = true;
  }
  const bool rests = !rank.leader->call && !rank.polls && rests_in_loop(*this, *rank.leader);
  if ((rank.polls || rests) && stays_in_function(*rank.leader, model_)) {
    rank.motion.stack = rank.motion.cpu = rank.motion.woke = false;
    rank.motion.locals = rank.motion.locals && rests;  // it may count what it does in between
  }
}

// A thread of a library (autograd's, XLA's) runs for the main thread, where the program's counters
// are.
void JobView::add_main_motion(RankView& rank) {
  if (rank.leader->has_python) {
    return;
  }
  const auto& threads = rank.process->threads;
  const auto main = std::find_if(threads.begin(), threads.end(), [&rank](const auto& thread) {
    return thread.tid == rank.process->pid;
  });
  if (main != threads.end()) {
    const Motion motion = measure_motion(*main, model_);
    rank.motion.stack = rank.motion.stack || motion.stack;
    rank.motion.locals = rank.motion.locals || motion.locals;
  }
}

// What is known about ranks without a process.
struct JobView::Absence {
  std::map<std::int32_t, const NodeCapture*> home;  // the node that the launcher put each rank on
  const NodeCapture* silent = nullptr;              // a node that did not answer, or only in part
  std::size_t silent_nodes = 0;
  std::vector<std::tuple<std::int32_t, std::int32_t, std::string>> local_ranges;
  bool whole_job = false;  // every node of the job was read
  // Processes that were read and do not tell their rank: one of them may be any that is missing.
  std::size_t nameless = 0;
  std::map<std::string, const RankView*> alive;  // by host: one of them that has not ended
};

void JobView::add_missing_ranks() {
  Absence absence;
  std::set<std::int32_t> expected;
  const std::int32_t world = world_size(capture_);
  for (std::int32_t rank = 0; rank < world; ++rank) {
    expected.insert(rank);
  }
  for (const NodeCapture& node : capture_.nodes) {
    for (const std::int32_t rank : node.expected_ranks) {
      if (rank >= 0 && rank < kMaxWorld) {
        expected.insert(rank);
        absence.home.emplace(rank, &node);
      }
    }
    if (!was_looked_at(node)) {
      absence.silent = &node;
      ++absence.silent_nodes;
    }
  }
  for (const RankView& found : ranks_) {
    expected.erase(found.rank);
    const auto [first, end] = local_range(capture_, *found.process, world);
    // A rank without a core may still exist.
    const std::uint32_t node = found.process->node;
    const bool whole = node >= capture_.nodes.size() || was_looked_at(capture_.nodes[node]);
    if (first < end && whole && capture_.job.source != JobSource::kCore) {
      absence.local_ranges.emplace_back(first, end, found.host);
    }
  }
  auto& ranges = absence.local_ranges;
  std::sort(ranges.begin(), ranges.end());
  ranges.erase(std::unique(ranges.begin(), ranges.end()), ranges.end());
  // Hosts are given by hand: that they are all of the job's, the launcher must have said.
  const std::size_t told =
      capture_.job.source == JobSource::kHosts ? nodes_told(capture_, world) : 0;
  absence.whole_job =
      (capture_.job.source == JobSource::kSlurm || (told > 0 && nodes_answered_ >= told) ||
       (capture_.job.source == JobSource::kReport && !capture_.job.id.empty())) &&
      nodes_answered_ > 0 && nodes_answered_ >= nodes_expected_;
  // A process that does not tell its rank (a core file without an environment) may be any of them.
  const auto nameless = [](const RankView& found) { return found.rank < 0; };
  absence.nameless =
      static_cast<std::size_t>(std::count_if(ranks_.begin(), ranks_.end(), nameless));
  std::vector<RankView> missing;
  for (const RankView& found : ranks_) {
    if (nameless(found) && found.presence != Presence::kDead) {
      absence.alive.emplace(found.host, &found);
    }
  }
  for (const std::int32_t rank : expected) {
    RankView view;
    view.rank = rank;
    explain_absence(absence, view);
    doubt_absence(absence, view);
    missing.push_back(std::move(view));
  }
  std::move(missing.begin(), missing.end(), std::back_inserter(ranks_));
  counted_twice_ = std::min(absence.nameless, expected.size());
}

// Decides whether a rank without a process is shown to be gone, or was just not seen. Only the
// first is evidence.
void JobView::explain_absence(const Absence& absence, RankView& rank) const {
  const auto say_silent = [&rank](const NodeCapture& node) {
    rank.host = printable(node.host);
    rank.why = node.why.empty() ? "node did not answer" : printable(node.why);
  };
  if (const auto home = absence.home.find(rank.rank); home != absence.home.end()) {
    if (!was_looked_at(*home->second)) {
      say_silent(*home->second);
      return;
    }
    rank.host = printable(home->second->host);
    rank.launched = true;
    rank.presence = Presence::kAbsent;
    rank.why = "no process of this rank on its node";
    return;
  }
  for (const auto& [first, end, host] : absence.local_ranges) {
    if (rank.rank >= first && rank.rank < end) {
      rank.presence = Presence::kAbsent;
      rank.host = host;
      rank.why = "no process of this rank on its node";
      return;
    }
  }
  if (absence.silent_nodes == 1) {
    say_silent(*absence.silent);
  } else if (absence.silent_nodes > 1) {
    rank.why = fmt::format("on one of {} nodes that did not answer", absence.silent_nodes);
  } else if (absence.whole_job) {
    rank.presence = Presence::kAbsent;
    rank.why = "no process of this rank on any node of the job";
  } else if (capture_.job.source == JobSource::kCore) {
    rank.why = absence.nameless == 0 ? "no core file of it was given"
                                     : "none of the core files that tell their rank is of it";
  } else {
    rank.why = "not on the nodes that were looked at";
  }
}

// A rank is not gone if a process of the job that does not tell its rank lives where it should be.
void JobView::doubt_absence(const Absence& absence, RankView& rank) {
  if (rank.presence != Presence::kAbsent || absence.alive.empty()) {
    return;
  }
  const auto there = rank.host.empty() ? absence.alive.begin() : absence.alive.find(rank.host);
  if (there != absence.alive.end()) {
    rank.presence = Presence::kUnread;
    rank.launched = false;
    rank.why = fmt::format("it may be pid {}, which does not tell its rank", there->second->pid());
  }
}

std::string_view JobView::text(snapshot::StringId id) const {
  return capture_.tables.strings().contains(id) ? capture_.tables.text(id) : std::string_view();
}

const std::vector<std::int32_t>& JobView::ranks_of(snapshot::StringId text) const {
  return ranks_of_.of(text, this->text(text));
}

std::size_t JobView::index_of(std::int32_t rank) const {
  const auto at = by_rank_.find(rank);
  return at == by_rank_.end() ? kNone : at->second;
}

std::size_t JobView::index_of(const ProcessCapture& process) const {
  const auto at = by_process_.find(&process);
  return at == by_process_.end() ? kNone : at->second;
}

const ProcessCapture* JobView::process(std::uint32_t node, pid_t pid) const {
  const auto at = by_pid_.find({node, pid});
  return at == by_pid_.end() ? nullptr : at->second;
}

void JobView::add_connections(const ProcessCapture& process) {
  for (const snapshot::Connection& each : process.connections) {
    const auto [at, is_new] =
        by_ends_.try_emplace(std::pair(text(each.local), text(each.peer)), &process);
    // A child inherits its parent's connections: then the rank is meant. Anything else is no
    // evidence.
    if (!is_new && at->second != nullptr && at->second != &process) {
      const bool family = at->second->node == process.node && at->second->owner == process.owner;
      at->second = !family ? nullptr : process.is_rank ? &process : at->second;
    }
  }
}

const ProcessCapture* JobView::other_end(const snapshot::Wait& wait) const {
  const auto at = by_ends_.find(std::pair(text(wait.peer), text(wait.local)));
  return at == by_ends_.end() || at->first.first.empty() ? nullptr : at->second;
}

bool JobView::has_other_end(const snapshot::Wait& wait) const {
  return by_ends_.contains(std::pair(text(wait.peer), text(wait.local)));
}

std::string JobView::host(const ProcessCapture& process) const {
  return process.node < capture_.nodes.size() ? printable(capture_.nodes[process.node].host)
                                              : std::string();
}

std::size_t JobView::count(Presence presence) const {
  return static_cast<std::size_t>(
      std::count_if(ranks_.begin(), ranks_.end(),
                    [presence](const RankView& rank) { return rank.presence == presence; }));
}

std::string JobView::name(const RankView& rank) {
  if (rank.rank < 0) {
    return rank.host.empty() ? fmt::format("pid {}", rank.pid())
                             : fmt::format("pid {} ({})", rank.pid(), rank.host);
  }
  std::string where = rank.host;
  if (rank.pid() != 0) {
    where += fmt::format("{}pid {}", where.empty() ? "" : ", ", rank.pid());
  }
  return where.empty() ? fmt::format("rank {}", rank.rank)
                       : fmt::format("rank {} ({})", rank.rank, where);
}

}  // namespace oddrank::aggregate
