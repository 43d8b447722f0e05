#include "aggregate/words/wait_words.h"

#include <array>
#include <csignal>

#include <fmt/format.h>

#include "aggregate/crash_words.h"
#include "aggregate/view/coroutines.h"
#include "aggregate/view/decider.h"
#include "aggregate/view/thread_cycle.h"
#include "base/printable.h"
#include "base/signals/signal_name.h"
#include "snapshot/freezer.h"

namespace oddrank::aggregate {

using snapshot::CallKind;
using snapshot::CollectiveCall;
using snapshot::Known;
using snapshot::ProcessCapture;
using snapshot::ThreadCapture;
using snapshot::Wait;
using snapshot::WaitOn;

namespace {

// Returns a path in words that people know: links of /proc name kernel objects as "pipe:[4711]".
std::string path_words(const JobView& view, const Wait& wait) {
  std::string path = printable(view.text(wait.path));
  const std::array<std::pair<std::string_view, std::string_view>, 4> objects = {{
      {"pipe:", "a pipe"},
      {"socket:", "a socket"},
      {"anon_inode:[eventpoll]", "an epoll set"},
      {"anon_inode:", "a kernel object"},
  }};
  for (const auto& [prefix, words] : objects) {
    if (path.substr(0, prefix.size()) == prefix) {
      return std::string(words);
    }
  }
  return path;
}

// Describes a wait for a lock, a pipe or a store's answer in the words of the waiting library; ""
// for kinds about which the kernel knows more (a file, a file lock, the GIL).
std::string library_wait(const JobView& view, const RankView& rank) {
  if (rank.sample() == nullptr || rank.state() == 'R') {
    return {};
  }
  switch (rank.decider->wait.on) {
    case WaitOn::kUnknown:
    case WaitOn::kLock:
    case WaitOn::kThread:
    case WaitOn::kChild:
    case WaitOn::kPipe:
    case WaitOn::kSocket: {
      const std::string_view words = view.model().python_wait(*rank.sample());
      const auto store = view.model().story(*rank.sample(), Story::kStore);
      return words.empty() && store ? fmt::format("waits for {}", store->pattern->words)
                                    : std::string(words);
    }
    default:
      return {};
  }
}

}  // namespace

std::string wait_phase(const JobView& view, const RankView& rank) {
  const std::string place = view.model().user_place(rank.sample());
  const Wait& wait = rank.decider->wait;
  const std::string path = path_words(view, wait);
  const std::string in_place = place.empty() ? "" : " in " + place;
  if (const std::string words = library_wait(view, rank); !words.empty()) {
    return words + in_place;
  }
  constexpr auto kPhases = std::to_array<std::pair<WaitOn, std::string_view>>({
      {WaitOn::kFileLock, "waits for a file lock"},
      {WaitOn::kLock, "waits for a lock"},
      {WaitOn::kGil, "waits for the GIL"},
      {WaitOn::kThread, "waits for a thread"},
      {WaitOn::kChild, "waits for a child process"},
      {WaitOn::kDevice, "waits for a device"},
      {WaitOn::kSocket, "waits on a socket"},
      {WaitOn::kPipe, "waits on a pipe"},
      {WaitOn::kSignal, "waits for a signal"},
      {WaitOn::kRendezvous, "rendezvous"},
      {WaitOn::kDebugger, "held by a debugger"},
  });
  for (const auto& [on, words] : kPhases) {
    if (wait.on == on && (on != WaitOn::kSignal || !snapshot::is_stopped_state(rank.state()))) {
      return std::string(words) +
             (on == WaitOn::kFileLock && !path.empty() ? " on " + path : in_place);
    }
  }
  if (wait.on == WaitOn::kFile) {
    return system_call_words(view, *rank.decider, false) + in_place;
  }
  const auto* sample = rank.sample();
  if (wait.on != WaitOn::kNothing && sample != nullptr &&
      sleeps_in(*rank.decider, *sample, view.model())) {
    return "sleeps" + in_place;
  }
  if (wait.on == WaitOn::kNothing || rank.state() == 'R') {
    return place.empty() ? "runs" : "runs " + place;
  }
  return {};
}

namespace {

std::string lock_words(const ProcessCapture& process, const Wait& wait) {
  if (wait.holder_alive == Known::kNo) {
    return "a lock whose owner is gone";
  }
  if (wait.holder_tid != 0) {
    return fmt::format("a lock held by tid {}{}", wait.holder_tid,
                       wait.holder_pid != 0 && wait.holder_pid != process.pid
                           ? fmt::format(" of pid {}", wait.holder_pid)
                           : std::string());
  }
  return "a lock";
}

// Returns the child of the process that it waits for by wait4() or the like; null if it is none
// that was read and lives.
const ProcessCapture* awaited_child(const JobView& view, const ProcessCapture& process) {
  const ThreadCapture* thread = deciding_thread(view, process);
  if (thread == nullptr || thread->call || thread->wait.on != WaitOn::kChild) {
    return nullptr;
  }
  const ProcessCapture* child = awaited_process(view, process);
  const bool lives =
      child != nullptr && child->parent == process.pid && !child->is_rank && !is_dead(*child);
  return lives ? child : nullptr;
}

// The words of a collective: "all_reduce in group dp {0-7} #12".
std::string collective_words(const JobView& view, const CollectiveCall& call, std::string op) {
  if (call.root >= 0) {
    const bool gathers = op.find("reduce") != std::string::npos || op.starts_with("gather");
    op += fmt::format(" {} rank {}", gathers ? "to" : "from", call.root);
  }
  std::string words = fmt::format("{} in {}", op, group_words(view, call));
  if (call.sequence >= 0) {
    words += fmt::format(" #{}", call.sequence);
  }
  return words;
}

}  // namespace

std::string group_words(const JobView& view, const CollectiveCall& call) {
  if (call.whole_world) {
    return "default group";
  }
  const std::string_view label = view.text(call.label);
  const std::string_view name = label.empty() ? view.text(call.group) : label;
  const std::vector<std::int32_t>& ranks = view.ranks_of(call.members);
  if (ranks.empty()) {
    return name.empty() ? "an unknown group" : "group " + printable(name, 60);
  }
  constexpr std::size_t kMaxListed =
      64;  // this is printed for each rank, so members of large groups are only counted
  const std::string members =
      ranks.size() > kMaxListed ? fmt::format("{} ranks", ranks.size()) : view.listed(call.members);
  return fmt::format("group {}{}{{{}}}", printable(name, 60), name.empty() ? "" : " ", members);
}

// Returns " to rank 3", " from rank 1 or 3", " of rank 3's window, with that of 2 locked"; "" if
// the other side is unknown.
std::string other_side_words(const JobView& view,
                             const CollectiveCall& call,
                             std::string_view direction) {
  if (call.wants_window >= 0) {
    const std::string& had = view.listed(call.has_windows);
    return fmt::format(" of rank {}'s window{}", call.wants_window,
                       had.empty() ? "" : fmt::format(", with that of {} locked", had));
  }
  if (call.peer >= 0) {
    return fmt::format(" {} rank {}", direction, call.peer);
  }
  const std::vector<std::int32_t>& peers = view.ranks_of(call.peers);
  if (peers.size() == 2) {
    return fmt::format(" {} rank {} or {}", direction, peers.front(), peers.back());
  }
  return peers.empty() ? ""
                       : fmt::format(" {} one of ranks {}", direction, view.listed(call.peers));
}

// Returns ", tag 5"; "" for 0, the default of programs that use no tags.
std::string tag_words(const CollectiveCall& call) {
  return call.tag > 0 ? fmt::format(", tag {}", call.tag) : "";
}

std::string call_words(const JobView& view, const CollectiveCall& call) {
  const auto op = [&view, &call] {
    std::string name = printable(view.text(call.op), 60);
    return name.empty() ? "a collective" : name;
  };
  switch (call.kind) {
    case CallKind::kSend:
      return op() + other_side_words(view, call, "to") + tag_words(call);
    case CallKind::kRecv:
      return op() + other_side_words(view, call, "from") + tag_words(call);
    case CallKind::kRendezvous:
      return fmt::format("rendezvous ({})", op());
    case CallKind::kCollective:
      break;
  }
  return view.known_words().of(call, [&] { return collective_words(view, call, op()); });
}

bool is_writing(const JobView& view, const Wait& wait) {
  const std::string_view call = view.text(wait.syscall_name);
  return call.find("write") != std::string_view::npos || call.starts_with("send");
}

std::string system_call_words(const JobView& view, const ThreadCapture& thread, bool with_wchan) {
  const Wait& wait = thread.wait;
  const std::string call = printable(view.text(wait.syscall_name), 40);
  const std::string path = path_words(view, wait);
  std::string words;
  if (!call.empty()) {
    words = fmt::format("{}(){}", call, path.empty() ? "" : " of " + path);
  } else if (!path.empty()) {
    words = "waiting for " + path;
  }
  const char state = thread.samples.empty() ? '?' : thread.samples.back().state;
  const std::string wchan = printable(view.text(wait.wchan), 60);
  if (with_wchan && state != '?' && !wchan.empty() && wchan != "0") {
    words += fmt::format("{}(state {} in {})", words.empty() ? "" : " ", state, wchan);
  } else if (state == 'D') {
    words += fmt::format("{}(state D)", words.empty() ? "" : " ");
  }
  return words;
}

const ThreadCapture* deciding_thread(const JobView& view, const ProcessCapture& process) {
  return find_decider(process, view.model());
}

std::string child_words(const JobView& view, const ProcessCapture& child) {
  for (const ThreadCapture& thread : child.threads) {
    for (const Story story : {Story::kLoaderWorker, Story::kPoolWorker}) {
      if (const auto hit = view.model().story(last_sample(thread), story)) {
        return std::string(hit->pattern->words);
      }
    }
  }
  return child.role == snapshot::JobRole::kUnknown
             ? "child process"
             : fmt::format("child process {}", view.text(child.label));
}

std::string process_words(const JobView& view, const ProcessCapture& process) {
  if (!process.is_rank) {
    return child_words(view, process);
  }
  return process.rank >= 0 ? fmt::format("rank {}", process.rank)
                           : JobView::titled(view.text(process.label), process.pid);
}

std::string_view future_words(const Wait& wait) {
  switch (wait.how) {
    case snapshot::WaitHow::kFutureOfThread:
      return "the result of its work";
    case snapshot::WaitHow::kFutureOfPool:
      return "work in the queue of its pool, which has no free thread";
    case snapshot::WaitHow::kFutureOfLoop:
      return "a coroutine of the event loop that it runs";
    default:
      return {};
  }
}

std::string awaited_thing(const ThreadCapture& thread) {
  const snapshot::Wait& wait = thread.wait;
  if (wait.on == WaitOn::kGil) {
    return "the GIL";
  }
  if (wait.on == WaitOn::kThread) {
    const std::string_view result = future_words(wait);
    return result.empty() ? "its end" : std::string(result);
  }
  if (wait.on == WaitOn::kSocket || wait.on == WaitOn::kPipe) {
    return "what comes from its own process";
  }
  if (wait.lock.kind == snapshot::LockKind::kOnce) {
    return "a first call";
  }
  return wait.address == 0 ? "a lock" : fmt::format("the lock at {:#x}", wait.address);
}

std::string thread_words(const JobView& view, const ThreadCapture& thread) {
  const std::string_view name = view.text(thread.has_python ? thread.python_name : thread.name);
  if (is_coroutine(thread)) {
    const auto frame = view.model().user_frame(thread.samples.back());
    return fmt::format("coroutine {}", frame ? printable(frame->name, 40) : printable(name, 40));
  }
  return name.empty() ? fmt::format("thread {}", thread.tid)
                      : fmt::format("thread {} ({})", thread.tid, printable(name, 40));
}

std::string command_words(const JobView& view, const ProcessCapture& child) {
  constexpr std::size_t kMaxCommand = 60;
  const ProcessCapture* parent = view.process(child.node, child.parent);
  const std::string_view command = view.text(child.command);
  const bool forked = parent != nullptr && view.text(parent->command) == command;
  if (command.empty() || forked || !view.text(child.python_version).empty()) {
    return {};
  }
  return fmt::format(" ({})", printable(command, kMaxCommand));
}

const ProcessCapture& last_child(const JobView& view, const ProcessCapture& process) {
  const ProcessCapture* last = follow(&process, [&view](const ProcessCapture* at) {
                                 return awaited_child(view, *at);
                               }).end();
  return last == nullptr ? process : *last;
}

std::string stuck_words(const JobView& view, const ProcessCapture& process) {
  const ProcessCapture& last = last_child(view, process);
  if (&last != &process) {
    return fmt::format("waits for its {} pid {}{}, which {}", child_words(view, last), last.pid,
                       command_words(view, last), stuck_words(view, last));
  }
  const ThreadCapture* thread = deciding_thread(view, process);
  const char state =
      thread != nullptr && !thread->samples.empty() ? thread->samples.back().state : process.state;
  if (state == 'Z' || state == 'X' || process.state == 'Z') {
    const std::string how = exit_words(process.exit_code);
    return fmt::format("is dead (zombie{}{})", how.empty() ? "" : ", ", how);
  }
  if (snapshot::is_stopped_state(state)) {
    return fmt::format("is stopped (state {})", state);
  }
  if (thread == nullptr) {
    return "could not be read";
  }
  const Wait& wait = thread->wait;
  if (wait.on == WaitOn::kLock) {
    return "waits for " + lock_words(process, wait);
  }
  if (wait.on == WaitOn::kFileLock) {
    const std::string path = path_words(view, wait);
    return "waits for a file lock" + (path.empty() ? "" : " on " + path) +
           (wait.holder_pid == 0 || wait.holder_alive != Known::kYes
                ? ""
                : fmt::format(", held by pid {}", wait.holder_pid));
  }
  if (wait.on == WaitOn::kNothing || state == 'R') {
    const std::string place = view.model().user_place(last_sample(*thread));
    return place.empty() ? "runs" : "runs " + place;
  }
  const std::string call = system_call_words(view, *thread, false);
  if (call.empty()) {
    return fmt::format("waits (state {})", state);
  }
  return keeps_waking(*thread) ? "is in " + call + " again and again" : "is stuck in " + call;
}

std::string phase_of(const JobView& view, const RankView& rank) {
  switch (rank.presence) {
    case Presence::kUnread:
      return "not read";
    case Presence::kAbsent:
      return "no process";
    case Presence::kDead:
      return "dead (zombie)";
    case Presence::kRecorded:
      return "by its flight recorder";
    default:
      break;
  }
  const char state = rank.state();
  std::string prefix = snapshot::is_stopped_state(state)
                           ? fmt::format("stopped (state {}): ", state)
                           : std::string();
  if (is_frozen(view, rank)) {
    prefix = std::string(kFrozenWords) + ": ";
  }
  if (rank.crashed()) {
    prefix = "crashed (" + signal_name(rank.process->crash->signal) + "): ";
  }
  if (rank.decider == nullptr) {
    return prefix.empty() ? fmt::format("state {}, no stack", state)
                          : fmt::format("stopped (state {})", state);
  }
  if (rank.decider->call) {
    return prefix + call_words(view, *rank.decider->call);
  }
  const auto* sample = rank.sample();
  for (const Story story : {Story::kFailed, Story::kEnds}) {
    if (const auto hit = view.model().story(sample, story)) {
      return prefix + "in " + std::string(hit->pattern->words);
    }
  }
  if (waits_for_input(view, rank)) {
    const auto hit = view.model().story(sample, Story::kLoader);
    const std::string who = hit ? std::string(hit->pattern->words) + ".__next__" : "input";
    const ProcessCapture* child =
        rank.process == nullptr ? nullptr : awaited_process(view, *rank.process);
    return prefix + who + (child == nullptr ? ": waits for data" : ": waits for worker");
  }
  if (state == 'D') {
    return system_call_words(view, *rank.decider, true);
  }
  const std::string words = wait_phase(view, rank);
  const std::string place = view.model().user_place(rank.sample(), "in ");
  return prefix + (!words.empty() ? words : place.empty() ? "no Python frame" : place);
}

std::string thread_wait_words(const JobView& view,
                              const ProcessCapture& process,
                              const ThreadCapture& thread) {
  if (has_crashed(process, thread)) {
    return (process.crash->is_own(process.pid) ? "crashed by " : "took ") + crash_cause(process);
  }
  if (thread.call) {
    return call_words(view, *thread.call);
  }
  const Wait& wait = thread.wait;
  const char state = thread.samples.empty() ? '?' : thread.samples.back().state;
  if (wait.on == WaitOn::kNothing || (state == 'R' && wait.on == WaitOn::kUnknown)) {
    return "runs";
  }
  if (state == 'T' && wait.on == WaitOn::kSignal && wait.holder_pid == 0) {
    return "is stopped by SIGSTOP or job control";
  }
  if (wait.on == WaitOn::kLock) {
    return "waits for " + lock_words(process, wait);
  }
  if (wait.on == WaitOn::kGil || thread.wants_gil) {
    return "waits for the GIL" +
           (wait.holder_tid != 0 ? fmt::format(", held by tid {}", wait.holder_tid) : "");
  }
  if (wait.on == WaitOn::kFileLock) {
    const std::string path = path_words(view, wait);
    const std::string lock = path.empty() ? "a file lock" : "the file lock " + path;
    return wait.holder_pid == 0
               ? "waits for " + lock
               : fmt::format("waits for {}, {} pid {}", lock,
                             wait.holder_alive == Known::kNo ? "made by" : "of", wait.holder_pid);
  }
  if (wait.holder_pid != 0 && wait.holder_pid != process.pid) {
    const ProcessCapture* holder = view.process(process.node, wait.holder_pid);
    return "waits for " +
           (holder != nullptr && holder->is_rank
                ? process_words(view, *holder)
                : fmt::format("{} pid {}",
                              holder == nullptr ? "process" : child_words(view, *holder),
                              wait.holder_pid));
  }
  const std::string call = system_call_words(view, thread, false);
  if (!call.empty()) {
    return "in " + call;
  }
  return wait.on == WaitOn::kUnknown ? "" : "waits for " + std::string(wait_name(wait.on));
}

std::string wait_detail(const JobView& view,
                        const ProcessCapture& process,
                        const ThreadCapture& thread) {
  const bool no_owner = thread.wait.on == WaitOn::kLock && thread.wait.holder_tid == 0;
  const std::string_view what = no_owner && !thread.samples.empty()
                                    ? view.model().python_wait(thread.samples.back())
                                    : std::string_view();
  const FindProcess find = [&view](std::uint32_t node, pid_t pid) {
    return view.process(node, pid);
  };
  return printable(wait_sentence(what, view.capture().tables, find, process, thread));
}

bool is_frozen(const JobView& view, const RankView& rank) {
  const Wait* wait = rank.decider == nullptr ? nullptr : &rank.decider->wait;
  return wait != nullptr && wait->on == WaitOn::kSignal &&
         snapshot::is_frozen(*wait, view.text(wait->wchan), rank.state());
}

const ProcessCapture* awaited_process(const JobView& view, const ProcessCapture& process) {
  const ThreadCapture* thread = deciding_thread(view, process);
  return thread == nullptr ? nullptr : view.awaited_by(process, *thread);
}

bool waits_for_input(const JobView& view, const RankView& rank) {
  if (rank.decider == nullptr || rank.decider->call || rank.sample() == nullptr) {
    return false;
  }
  switch (rank.decider->wait.on) {
    case WaitOn::kInput:
      return true;
    case WaitOn::kUnknown:
    case WaitOn::kChild:
    case WaitOn::kPipe:
    case WaitOn::kSocket:  // multiprocessing's queues may be socket pairs
    case WaitOn::kLock:
    case WaitOn::kThread:
      // In the loader, not in code of the program that the loader runs in this very thread.
      return rank.state() != 'R' &&
             view.model().innermost_story(*rank.sample(), Story::kLoader).has_value();
    default:
      return false;
  }
}

WaitsFor waits_for(const JobView& view, const RankView& rank) {
  WaitsFor result;
  if (rank.process == nullptr || rank.decider == nullptr) {
    return result;
  }
  const Wait& wait = rank.decider->wait;
  result.what = waits_for_input(view, rank) ? WaitOn::kInput : wait.on;
  result.pid = wait.holder_pid;
  result.tid = wait.holder_tid;
  result.fd = wait.fd;
  result.address = wait.address;
  result.path = printable(view.text(wait.path));
  result.holder_alive = wait.holder_alive;
  result.detail = wait_detail(view, *rank.process, *rank.decider);
  if (rank.decider->call) {
    result.what = rank.decider->call->peer >= 0 ? WaitOn::kPeer : WaitOn::kCollective;
    result.rank = rank.decider->call->peer;
    result.group = printable(view.text(rank.decider->call->group));
  }
  const ProcessCapture* child = awaited_process(view, *rank.process);
  if (child != nullptr && child->owner != rank.process->pid) {
    result.pid = child->pid;
    result.rank = child->rank;
    result.holder_alive = child->state == 'Z' ? Known::kNo : Known::kYes;
  }
  if (child != nullptr && child->owner == rank.process->pid && wait.on != WaitOn::kFileLock) {
    result.what = WaitOn::kChild;
    // The last hop is what the child itself waits for.
    const ThreadCapture* thread = deciding_thread(view, *child);
    if (thread != nullptr && !view.text(thread->wait.path).empty()) {
      result.path = printable(view.text(thread->wait.path));
    }
    result.detail = stuck_words(view, *child);
  }
  return result;
}

}  // namespace oddrank::aggregate
