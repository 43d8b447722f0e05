#include "aggregate/view/job_view.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <tuple>

#include <fmt/format.h>

#include "aggregate/view/call_counts.h"
#include "aggregate/view/decider.h"
#include "aggregate/view/missing_ranks.h"
#include "aggregate/view/polling.h"
#include "aggregate/view/rank_set.h"
#include "aggregate/view/remote_calls.h"
#include "base/printable.h"

namespace oddrank::aggregate {

using snapshot::Capture;
using snapshot::NodeCapture;
using snapshot::PollOn;
using snapshot::ProcessCapture;

namespace {

// Picks the better of two processes that both claim to be this rank: a leftover must not hide the
// rank.
bool better(const ProcessCapture& a, const ProcessCapture& b) {
  const auto worth = [](const ProcessCapture& process) {
    return std::tuple(!is_dead(process), process.read, process.start_us);
  };
  return worth(a) > worth(b);
}

std::pair<std::uint32_t, pid_t> key_of_pid(const ProcessCapture* process) {
  return {process->node, process->pid};
}

// Returns whether the decider has made a call between the samples: in its call's group; or in any
// group if that is unknown, no other thread makes calls, and it has not stood in its call all the
// time.
bool has_made_calls(const RankView& rank) {
  const auto& call = rank.decider->call;
  const bool known = call && (call->whole_world || call->group != snapshot::StringId{});
  const bool stands = call && rank.decider->wait.quiet_ms >= snapshot::kOldWaitMs;
  if (!known && (stands || !rank.beside.empty())) {
    return false;
  }
  const auto& groups = rank.process->groups;
  return std::ranges::any_of(groups, [&](const snapshot::ProcessGroup& group) {
    const bool meant = !known || is_group_of(group, *call);
    return meant && std::ranges::any_of(group.counters, snapshot::has_counted_on);
  });
}

}  // namespace

JobView::JobView(const Capture& capture, FrameModel& model)
    : capture_(capture),
      model_(model),
      flight_(flight_facts(capture)),
      rank_of_process_(capture.processes.size(), kNone) {
  count_nodes();
  add_processes();
  only_recorded_ = flight_ && capture.processes.empty() && capture.nodes.empty();
  if (only_recorded_) {
    add_recorded();
  }
  MissingRanks missing = find_missing_ranks(*this);
  std::move(missing.ranks.begin(), missing.ranks.end(), std::back_inserter(ranks_));
  counted_twice_ = missing.may_be_found;
  const auto before = [](const RankView& a, const RankView& b) {
    return a.rank != b.rank ? a.rank < b.rank
                            : std::pair(std::string_view(a.host), a.pid()) <
                                  std::pair(std::string_view(b.host), b.pid());
  };
  std::ranges::sort(ranks_, before);
  first_ranked_ = static_cast<std::size_t>(
      std::ranges::find_if(ranks_, [](const RankView& each) { return each.rank >= 0; }) -
      ranks_.begin());
  for (std::size_t at = 0; at < ranks_.size(); ++at) {
    if (ranks_[at].process != nullptr) {
      rank_of_process_[static_cast<std::size_t>(ranks_[at].process - capture.processes.data())] =
          at;
    }
  }
  make_coroutines();
  take_servers();
  take_socket_servers();
  take_records();
}

void JobView::make_coroutines() {
  for (const ProcessCapture& process : capture_.processes) {
    auto threads = process.tasks.empty() ? std::vector<snapshot::ThreadCapture>()
                                         : coroutine_threads(model_, process);
    if (!threads.empty()) {
      coroutines_.emplace(&process, std::move(threads));
    }
  }
}

const std::vector<snapshot::ThreadCapture>& JobView::coroutines(
    const ProcessCapture& process) const {
  static const std::vector<snapshot::ThreadCapture> none;
  const auto at = coroutines_.find(&process);
  return at == coroutines_.end() ? none : at->second;
}

// Makes the threads that may owe callers their answers (remote_calls.h) the deciders of their
// ranks.
void JobView::take_servers() {
  for (RankView& rank : ranks_) {
    if (rank.presence == Presence::kRead && !rank.process->tasks.empty()) {
      if (auto coroutine = find_serving_coroutine(model_, *rank.process)) {
        rank.coroutine = &serving_.emplace_back(*std::move(coroutine));
      }
    }
  }
  bool any_calls = false;
  // Ray and Monarch look for signals while they wait: they wake, and go on waiting.
  for (RankView& rank : ranks_) {
    if (rank.decider != nullptr && remote_call(model_, *rank.decider)) {
      any_calls = true;
      Motion& motion = rank.motion;
      motion.woke = motion.woke && (motion.stack || motion.locals);
      motion.cpu = motion.cpu && (motion.stack || motion.locals);
    }
  }
  if (!any_calls) {
    return;
  }
  for (const std::size_t giver : find_givers(model_, ranks_)) {
    ranks_[giver].motion.stack = true;
  }
  for (const RemoteWait& wait : find_remote_waits(model_, ranks_, capture_.collectives.requests)) {
    // First the main thread's wait, then the wait of the thread that runs a function for others and
    // speaks for the rank instead.
    ranks_[wait.caller].caller = wait.thread;
    ranks_[wait.caller].servers.clear();
    ranks_[wait.caller].wants = {wait.wants.begin(), wait.wants.end()};
    for (const RemoteWait::Server& each : wait.servers) {
      ranks_[wait.caller].servers.push_back(each.rank);
      speak_for(ranks_[each.rank], *each.thread);
    }
  }
}

// A thread that has the connection at which another rank waits, and does something of its own, owes
// the answer: it becomes its rank's decider, whatever the main thread waits in.
void JobView::take_socket_servers() {
  for (const RankView& rank : ranks_) {
    const ProcessCapture* server =
        rank.decider == nullptr ? nullptr : awaited_by(*rank.process, *rank.decider);
    const std::size_t at = server == nullptr ? kNone : index_of(*server);
    if (at == kNone || ranks_[at].process != server || ranks_[at].decider == nullptr ||
        is_at_work(*ranks_[at].decider, model_)) {
      continue;
    }
    auto keepers = keepers_of(*this, *rank.process, rank.decider->wait, *server);
    std::erase_if(keepers, [this](const auto* thread) {
      return thread->call || thread->samples.empty() || !is_at_work(*thread, model_);
    });
    if (keepers.size() == 1) {
      speak_for(ranks_[at], *keepers.front());
    }
  }
}

void JobView::speak_for(RankView& rank, const snapshot::ThreadCapture& thread) {
  if (rank.decider != &thread) {
    rank.decider = &thread;
    rank.motion = measure_motion(thread, model_);
    rank.beside = find_beside(*rank.process, thread, model_);
    take_poll(rank);
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
    // If the call is older than the samples, what wakes it (a timer's signals, say) does not end
    // the call.
    constexpr std::int64_t kOlderMs = 10'000;
    RankView& rank = ranks_[at];
    if (rank.motion.woke && rank.decider->call &&
        age_of_call_ms(rank, *rank.decider->call) >= kOlderMs) {
      rank.motion.woke = false;
    }
  }
}

// Adds a rank for each dump and each member without one. A dump is one look: a rank stands still
// there if it has made no call for longer than a step lasts.
void JobView::add_recorded() {
  constexpr std::int64_t kNsPerUs = 1000;
  constexpr std::int64_t kNsPerMs = 1'000'000;
  for (const snapshot::FlightRecord* record : flight_->job.records) {
    RankView& rank = ranks_.emplace_back();
    rank.rank = record->rank;
    rank.presence = Presence::kRecorded;
    std::int64_t newest_ns = 0;
    for (const snapshot::FlightEntry& entry : record->entries) {
      newest_ns = std::max(newest_ns, entry.created_ns);
    }
    const auto written_ns = static_cast<std::int64_t>(record->written_us) * kNsPerUs;
    rank.motion.measured = newest_ns > 0 && written_ns > newest_ns &&
                           written_ns - newest_ns >= snapshot::kOldWaitMs * kNsPerMs;
  }
  for (const std::int32_t member : ranks_without_dump(*flight_)) {
    RankView& rank = ranks_.emplace_back();
    rank.rank = member;
    rank.why = "no dump";
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

void JobView::sort_processes() {
  by_pid_.reserve(capture_.processes.size());
  for (const ProcessCapture& process : capture_.processes) {
    by_pid_.push_back(&process);
  }
  if (!std::ranges::is_sorted(by_pid_, {}, key_of_pid)) {
    std::ranges::stable_sort(by_pid_, {}, key_of_pid);
  }
}

RankView JobView::view_of(const ProcessCapture& process) const {
  RankView view;
  view.rank = process.rank;
  view.host = host(process);
  view.label = text(process.label);
  view.process = &process;
  view.presence = presence_of(process);
  view.why = printable(text(process.why));
  return view;
}

void JobView::drop_helpers(std::vector<const ProcessCapture*>& mains) {
  std::erase_if(mains, [this](const ProcessCapture* process) {
    const bool helper = process->state == 'Z';
    if (helper) {
      notes_.push_back(
          fmt::format("pid {} ({}) on {} has ended, and is no rank: all ranks have a process",
                      process->pid, text(process->name), host(*process)));
    }
    return helper;
  });
}

void JobView::add_processes() {
  sort_processes();
  std::map<std::int32_t, const ProcessCapture*> chosen;
  std::map<std::pair<std::uint32_t, pid_t>, SlimVector<const ProcessCapture*>> children;
  std::vector<const ProcessCapture*> mains;
  for (const ProcessCapture& process : capture_.processes) {
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
  // If each rank of the job has a process, a zombie beside them is a helper's.
  const auto world = static_cast<std::size_t>(std::max(capture_.job.world_size, 0));
  if (world > 0 && chosen.size() >= world) {
    drop_helpers(mains);
  }
  for (const auto& entry : chosen) {
    mains.push_back(entry.second);
  }
  ranks_.reserve(mains.size());
  std::uint64_t first = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t last = 0;
  for (const ProcessCapture* process : mains) {
    RankView view = view_of(*process);
    if (const auto at = children.find({process->node, process->pid}); at != children.end()) {
      view.children = at->second;
      std::ranges::sort(view.children,
                        [](const auto* a, const auto* b) { return a->pid < b->pid; });
    }
    view.decider = find_decider(*process, model_);
    if (view.decider != nullptr) {
      view.beside = find_beside(*process, *view.decider, model_);
      take_poll(view);
    }
    if (process->read_us != 0) {
      first = std::min(first, process->read_us);
      last = std::max(last, process->read_us);
    }
    ranks_.push_back(std::move(view));
  }
  skew_us_ = last > first ? last - first : 0;
  began_us_ = last == 0 ? 0 : first;
}

// Finds what the decider polls for. If another thread of the process has to give it, and one is in
// a call of a communication library, that thread becomes the decider.
void JobView::take_poll(RankView& rank) {
  const auto poll = rank.decider->call ? std::nullopt : poll_of(*this, *rank.decider);
  rank.polls = poll ? std::optional(poll->on) : std::nullopt;
  if (poll && snapshot::is_of_own_process(poll->on) && !rank.beside.empty()) {
    rank.decider = rank.beside.front();
    rank.beside = find_beside(*rank.process, *rank.decider, model_);
    rank.polls.reset();
  }
  rank.motion = measure_motion(*rank.decider, model_);
  if (has_begun_since(*rank.process, *rank.decider)) {  // a thread for each step, say
    rank.motion.measured = rank.motion.stack = true;
  }
  add_main_motion(rank);
  // Equal frames in two samples may belong to two iterations; the count of calls tells them apart.
  const bool before = rank.motion.settled && rank.decider->call;  // that it settled in this call
  rank.motion.calls = rank.motion.measured && !before && has_made_calls(rank);
  if (rank.motion.calls && !waits_to_try_again(*rank.decider)) {
    (rank.decider->call ? rank.motion.stack : rank.motion.locals) = true;
  }
  const bool rests = !rank.decider->call && !rank.polls && rests_in_loop(*this, *rank.decider);
  const bool stands =
      rank.polls || rests || waits_for_standing_pool(*rank.decider, rank.children, model_);
  // If it is unknown what it polls for, changes count as work.
  const bool still = rank.polls != PollOn::kUnknown || !rank.motion.locals;
  if (stands && still && stays_in_function(*rank.decider, model_)) {
    rank.motion.stack = rank.motion.cpu = rank.motion.woke = false;
    rank.motion.locals = rank.motion.locals && rests;  // it may count what it does in between
  }
}

// A thread of a library (autograd's, XLA's) runs for the main thread, where the program's counters
// are.
void JobView::add_main_motion(RankView& rank) {
  if (rank.decider->has_python) {
    return;
  }
  if (const auto* main = main_thread(*rank.process)) {
    const Motion motion = measure_motion(*main, model_);
    rank.motion.stack = rank.motion.stack || motion.stack;
    rank.motion.locals = rank.motion.locals || motion.locals;
  }
}

std::string_view JobView::text(snapshot::StringId id) const {
  return capture_.tables.strings().contains(id) ? capture_.tables.text(id) : std::string_view();
}

const std::vector<std::int32_t>& JobView::ranks_of(snapshot::StringId text) const {
  return ranks_of_.of(text, this->text(text));
}

const std::string& JobView::listed(snapshot::StringId text) const {
  constexpr std::size_t kWidth = 40;
  const auto [at, is_new] = listed_.try_emplace(text);
  if (is_new) {
    at->second = format_ranks_within(ranks_of(text), kWidth);
  }
  return at->second;
}

std::size_t JobView::index_of(std::int32_t rank) const {
  if (rank < 0 || first_ranked_ >= ranks_.size()) {
    return kNone;
  }
  // In most jobs, all ranks are there once.
  if (const std::size_t place = first_ranked_ + static_cast<std::size_t>(rank);
      place < ranks_.size() && ranks_[place].rank == rank) {
    return place;
  }
  const auto first = ranks_.begin() + static_cast<std::ptrdiff_t>(first_ranked_);
  const auto at = std::ranges::lower_bound(first, ranks_.end(), rank, {}, &RankView::rank);
  return at == ranks_.end() || at->rank != rank ? kNone
                                                : static_cast<std::size_t>(at - ranks_.begin());
}

std::size_t JobView::index_of(const RankView& rank) const {
  return static_cast<std::size_t>(&rank - ranks_.data());
}

std::vector<std::int32_t> JobView::numbers_of(const std::vector<std::size_t>& ranks) const {
  std::vector<std::int32_t> numbers;
  numbers.reserve(ranks.size());
  for (const std::size_t at : ranks) {
    numbers.push_back(ranks_[at].rank);
  }
  return numbers;
}

std::vector<std::size_t> JobView::indices_of(const std::vector<std::int32_t>& numbers) const {
  std::vector<std::size_t> indices;
  for (const std::int32_t number : numbers) {
    if (const std::size_t at = index_of(number); at != kNone) {
      indices.push_back(at);
    }
  }
  return indices;
}

std::size_t JobView::index_of(const ProcessCapture& process) const {
  const std::span<const ProcessCapture> all = capture_.processes;
  const std::less<> before;  // also for a process that is not of the capture
  return before(&process, all.data()) || !before(&process, all.data() + all.size())
             ? kNone
             : rank_of_process_[static_cast<std::size_t>(&process - all.data())];
}

std::size_t JobView::index_of_rank(const ProcessCapture& process) const {
  return process.rank >= 0 ? index_of(process.rank) : index_of(process);
}

std::size_t JobView::index_of_owner(const ProcessCapture& process) const {
  const bool own = process.is_rank || process.owner == 0;
  const ProcessCapture* owner = own ? &process : this->process(process.node, process.owner);
  return owner == nullptr ? kNone : index_of_rank(*owner);
}

const RankView* JobView::other_owner(const ProcessCapture& process, const RankView& rank) const {
  const std::size_t at = index_of_owner(process);
  const RankView* owner = at == kNone ? nullptr : &ranks_[at];
  return owner == nullptr || owner->rank == rank.rank ? nullptr : owner;
}

const ProcessCapture* JobView::process(std::uint32_t node, pid_t pid) const {
  const auto at = std::ranges::lower_bound(by_pid_, std::pair(node, pid), {}, key_of_pid);
  return at == by_pid_.end() || key_of_pid(*at) != std::pair(node, pid) ? nullptr : *at;
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
  return other_end(wait.rare->local, wait.rare->peer);
}

const ProcessCapture* JobView::other_end(snapshot::StringId local, snapshot::StringId peer) const {
  const auto at = by_ends_.find(std::pair(text(peer), text(local)));
  return at == by_ends_.end() || at->first.first.empty() ? nullptr : at->second;
}

const ProcessCapture* JobView::awaited_by(const ProcessCapture& process,
                                          const snapshot::ThreadCapture& thread) const {
  const snapshot::Wait& wait = thread.wait;
  if (thread.call || wait.holder_pid == process.pid) {
    return nullptr;
  }
  const ProcessCapture* other =
      wait.holder_pid != 0 ? this->process(process.node, wait.holder_pid) : nullptr;
  other = other == nullptr ? other_end(wait) : other;
  return other == &process ? nullptr : other;
}

bool JobView::has_other_end(const snapshot::Wait& wait) const {
  return has_other_end({wait.rare->local, wait.rare->peer});
}

bool JobView::has_other_end(const snapshot::Connection& connection) const {
  return by_ends_.contains(std::pair(text(connection.peer), text(connection.local)));
}

std::string JobView::host(std::uint32_t node) const {
  return node < capture_.nodes.size() ? printable(capture_.nodes[node].host) : std::string();
}

std::size_t JobView::count(Presence presence) const {
  return static_cast<std::size_t>(std::ranges::count_if(
      ranks_, [presence](const RankView& rank) { return rank.presence == presence; }));
}

std::size_t JobView::beside_ranks() const {
  return !of_ranks()
             ? 0
             : static_cast<std::size_t>(std::ranges::count_if(ranks_, [](const RankView& rank) {
                 return rank.rank < 0 && !rank.may_be_rank();
               }));
}

std::string JobView::name(const RankView& rank) {
  if (rank.rank < 0) {
    return titled(rank.label, rank.pid(), rank.host);
  }
  std::string where;
  const auto add = [&where](std::string_view part) {
    where += (where.empty() || part.empty() ? "" : ", ") + std::string(part);
  };
  if (rank.process != nullptr &&
      (rank.process->role != snapshot::JobRole::kUnknown || rank.process->first_rank > 0 ||
       rank.process->replica != snapshot::StringId{})) {
    add(rank.label);
  }
  add(rank.host);
  if (rank.pid() != 0) {
    add(fmt::format("pid {}", rank.pid()));
  }
  return where.empty() ? fmt::format("rank {}", rank.rank)
                       : fmt::format("rank {} ({})", rank.rank, where);
}

std::string JobView::short_name(const RankView& rank) {
  return rank.rank >= 0 ? fmt::format("rank {}", rank.rank) : titled(rank.label, rank.pid());
}

std::string JobView::titled(std::string_view label, pid_t pid, const std::string& host) {
  if (label.empty()) {
    return host.empty() ? fmt::format("pid {}", pid) : fmt::format("pid {} ({})", pid, host);
  }
  return fmt::format("{} (pid {}{}{})", label, pid, host.empty() ? "" : ", ", host);
}

}  // namespace oddrank::aggregate
