// If the other end has one user, that process is the holder. If it has several, the holder is the
// one that started all others: a shell between a program and its reader also has the pipe, and
// waits for the program. Otherwise no holder is named.
#include "waits/ends/join_ends.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "attach/proc_fds.h"
#include "base/printable.h"
#include "waits/add_note.h"
#include "waits/awaited_files.h"
#include "waits/ends/connection_facts.h"
#include "waits/ends/cut_sockets.h"
#include "waits/ends/end_owners.h"
#include "waits/ends/transfers.h"

namespace oddrank::waits {
namespace {

using attach::FdKind;
using snapshot::AwaitedFile;
using snapshot::Capture;
using snapshot::Known;
using snapshot::ProcessCapture;
using snapshot::ThreadCapture;
using snapshot::Wait;

constexpr std::size_t kMaxConnections = 4096;  // of one process

class Joiner {
 public:
  Joiner(const NodeEnds& node, Capture& capture) : node_(node), capture_(capture), owners_(node) {}

  void run();

 private:
  void join(std::size_t process, ThreadCapture& thread);

  // Adds the ends of the connections that the thread's frames refer to.
  void join_kept(std::size_t process,
                 const ThreadCapture& thread,
                 SlimVector<snapshot::KeptSocket>& sockets);

  // `file` belongs to the end; the thread's frames show what a connection is used for.
  void join_end(std::size_t process,
                const attach::OpenFd& end,
                const ThreadCapture& thread,
                Wait& wait,
                AwaitedFile& file);

  // Finds the other end of each file. A process that has all of them is the holder, whichever file
  // the call returns for; a pipe that only this process has is there to wake it.
  void join_several(std::size_t process, const AwaitedFiles& files, ThreadCapture& thread);

  // A process that made a lock file, or has a lock on it, keeps it open. A process that tries to
  // get the lock has it open for a moment, for reading and writing; that is not evidence. If
  // several processes qualify, none is named.
  void join_file(pid_t pid, Wait& wait);

  // A thread that receives from a socket of ZeroMQ is woken by an I/O thread of the library, which
  // has the connections. If all of these lead to one process, that is the holder; unless the
  // library listens as well: then any process that connects may send. Heuristic if a process talks
  // to several programs in one context: it is not read which socket has which connection.
  void join_message_queue(std::size_t process);

  void join_pipe(pid_t pid, std::uint64_t inode, Wait& wait, AwaitedFile& file);

  void join_named_pipe(pid_t pid, Wait& wait);

  void join_socket(std::size_t process,
                   std::uint64_t inode,
                   const ThreadCapture& thread,
                   Wait& wait,
                   AwaitedFile& file);

  // Joins with the other end on this node, in the same network namespace. Returns a note.
  std::string join_local(std::size_t process, std::uint64_t other, Wait& wait);

  // Returns the one of the processes that started all others, directly or not; 0 if there is none.
  pid_t first_of_family(const std::vector<pid_t>& pids) const;

  // Returns the rank that all of them belong to, if it is one of them: workers inherit its
  // descriptors.
  pid_t rank_of(const std::vector<pid_t>& pids) const;

  // Keeps the connections whose other end is in no process that can be seen here.
  void keep_connections();

  void note(AwaitedFile& file, const std::string& words) {
    file.note = capture_.tables.string(words);
  }

  // Returns "`nobody` `has_it`", and what was not searched, if anything.
  std::string nobody(const std::string& nobody, const std::string& has_it) const;

  void set_holder(pid_t pid, Wait& wait);

  const NodeEnds& node_;
  Capture& capture_;
  EndOwners owners_;
};

void Joiner::run() {
  for (std::size_t i = 0; i < capture_.processes.size(); ++i) {
    for (ThreadCapture& thread : capture_.processes[i].threads) {
      join(i, thread);
      if (!thread.wait.rare->kept.empty()) {
        join_kept(i, thread, thread.wait.rare.edit().kept);
      }
    }
    for (snapshot::AsyncTask& task : capture_.processes[i].tasks) {
      ThreadCapture thread;  // one that stands where the task does
      thread.samples.emplace_back().stack = task.stack;
      join_kept(i, thread, task.sockets);
    }
    join_message_queue(i);
  }
  keep_connections();
}

void Joiner::join(std::size_t process, ThreadCapture& thread) {
  Wait& wait = thread.wait;
  if (is_polled_lock(wait)) {
    join_file(capture_.processes[process].pid, wait);
    return;
  }
  if (wait.holder_pid != 0) {
    return;
  }
  if (is_named_pipe(wait, capture_.tables)) {
    join_named_pipe(capture_.processes[process].pid, wait);
    return;
  }
  const AwaitedFiles files = awaited_files(wait, capture_.tables);
  if (capture_.tables.text(wait.path).empty()) {
    join_several(process, files, thread);
  } else if (!files.ends.empty()) {
    snapshot::RareWaitFacts& rare = wait.rare.edit();
    if (rare.awaited.empty()) {
      rare.awaited.emplace_back();
      rare.awaited.front().fd = wait.fd;
      rare.awaited.front().link = wait.path;
      rare.awaited_count = 1;
    }
    join_end(process, files.ends.front(), thread, wait, rare.awaited.front());
  }
}

void Joiner::join_kept(std::size_t process,
                       const ThreadCapture& thread,
                       SlimVector<snapshot::KeptSocket>& sockets) {
  for (snapshot::KeptSocket& kept : sockets) {
    Wait alone;
    AwaitedFile file;
    join_end(process, attach::parse_fd_link(0, capture_.tables.text(kept.link)), thread, alone,
             file);
    kept.local = alone.rare->local;
    kept.peer = alone.rare->peer;
    kept.other_end = alone.rare->other_end;
    kept.holder_pid = alone.holder_pid;
  }
}

void Joiner::join_end(std::size_t process,
                      const attach::OpenFd& end,
                      const ThreadCapture& thread,
                      Wait& wait,
                      AwaitedFile& file) {
  if (end.kind == FdKind::kPipe) {
    join_pipe(capture_.processes[process].pid, end.inode, wait, file);
  } else {
    join_socket(process, end.inode, thread, wait, file);
  }
}

void Joiner::join_several(std::size_t process, const AwaitedFiles& files, ThreadCapture& thread) {
  const pid_t pid = capture_.processes[process].pid;
  std::set<pid_t> holders;
  bool all_known = files.all;
  for (std::size_t i = 0; i < files.ends.size(); ++i) {
    const attach::OpenFd& end = files.ends[i];
    Wait alone = thread.wait;
    join_end(process, end, thread, alone, thread.wait.rare.edit().awaited[i]);
    const bool own = end.kind == FdKind::kPipe && owners_.is_own_pipe(end.inode, pid);
    thread.wait.rare.edit().awaited[i].holder_pid = own ? pid : alone.holder_pid;
    if (alone.holder_pid != 0 && alone.holder_pid != pid) {
      holders.insert(alone.holder_pid);
    } else if (alone.holder_pid == 0 && !own) {
      all_known = false;
    }
  }
  if (all_known && holders.size() == 1) {
    set_holder(*holders.begin(), thread.wait);
    thread.wait.inferred = true;
  }
}

void Joiner::join_message_queue(std::size_t process) {
  auto& threads = capture_.processes[process].threads;
  const auto waits = [this](const ThreadCapture& thread) {
    return is_in_message_queue(thread, capture_.tables);
  };
  if (std::none_of(threads.begin(), threads.end(), waits)) {
    return;
  }
  std::set<pid_t> peers;
  AwaitedFile connection;
  std::optional<AwaitedFile> listening;
  for (const ThreadCapture& thread : threads) {
    if (!is_message_queue_io(thread, capture_.tables)) {
      continue;
    }
    const AwaitedFiles files = awaited_files(thread.wait, capture_.tables);
    if (files.ends.size() == snapshot::kMaxAwaited) {
      return;  // there may be more
    }
    for (const attach::OpenFd& end : files.ends) {
      Wait alone;
      AwaitedFile file{end.fd, capture_.tables.string(end.link)};
      join_end(process, end, thread, alone, file);
      if (file.listens()) {
        listening = file;
      } else if (alone.holder_pid != 0 && alone.holder_pid != capture_.processes[process].pid) {
        peers.insert(alone.holder_pid);
        connection = file;
      } else if (!capture_.tables.text(alone.rare->peer).empty()) {
        return;  // a process that was not found
      }
    }
  }
  for (ThreadCapture& thread : threads) {
    if (peers.size() == 1 && waits(thread)) {
      Wait& wait = thread.wait;
      if (listening) {
        connection.holder_pid = *peers.begin();
      } else {
        set_holder(*peers.begin(), wait);
        wait.path = connection.link;
        wait.fd = connection.fd;
      }
      wait.on = snapshot::WaitOn::kSocket;
      wait.how = listening ? snapshot::WaitHow::kFiles : snapshot::WaitHow::kDescribed;
      wait.inferred = true;
      snapshot::RareWaitFacts& rare = wait.rare.edit();
      rare.own_wakers = false;
      rare.awaited = {connection};
      if (listening) {
        rare.awaited.push_back(*listening);
      }
      rare.awaited_count = rare.awaited.size();
      wait.detail = capture_.tables.string("waits for a message of ZeroMQ");
    }
  }
}

void Joiner::join_file(pid_t pid, Wait& wait) {
  std::set<pid_t> lockers;
  std::set<pid_t> makers;
  for (const OpenFile& file : node_.files) {
    if (file.pid == pid || file.path != capture_.tables.text(wait.path)) {
      continue;
    }
    if (file.locked) {
      lockers.insert(file.pid);
    } else if (!file.both) {
      makers.insert(file.pid);
    }
  }
  const std::set<pid_t>& found = lockers.empty() ? makers : lockers;
  const std::vector<pid_t> others(found.begin(), found.end());
  if (others.size() == 1) {
    set_holder(others.front(), wait);
    add_note(capture_, wait,
             "pid " + std::to_string(others.front()) +
                 (lockers.empty() ? " has it open" : " has locked it"));
  } else {
    add_note(capture_, wait,
             others.empty() ? nobody("nobody on this node", " has it open")
                            : "open in pids " + pid_list(others));
  }
}

void Joiner::join_pipe(pid_t pid, std::uint64_t inode, Wait& wait, AwaitedFile& file) {
  const PipeEnds* own = owners_.pipe_ends(inode, pid);
  if (own == nullptr && !capture_.tables.text(wait.path).starts_with("/dev/pts/")) {
    return;
  }
  // The call shows the direction; for a poll, the process's own end does. (Its side of a terminal
  // has no path of its own, and is polled to read.)
  const std::string_view call = capture_.tables.text(wait.syscall_name);
  const bool writes =
      call.find("write") != std::string_view::npos ||
      (call.find("read") == std::string_view::npos && own != nullptr && !own->readable);
  const auto [is_own, owners, users] = owners_.other_end(inode, pid, writes);
  const char* end = writes ? "reading" : "writing";
  const pid_t first = first_of_family(users.empty() ? owners : users);
  if (first != 0 || owners.size() == 1) {
    const pid_t holder = first != 0 ? first : owners.front();
    set_holder(holder, wait);
    wait.inferred = owners.size() > 1;
    note(file, std::string("pid ") + std::to_string(holder) + " has it open for " + end +
                   (owners.size() > 1 ? " (so have " + std::to_string(owners.size() - 1) +
                                            " others, which also have this end)"
                                      : std::string()));
  } else if (owners.empty()) {
    const std::string open = std::string(" has it open for ") + end;
    file.holder_pid = is_own ? pid : 0;
    note(file, is_own ? "this very process" + open : nobody("no other process", open));
  } else {
    note(file,
         std::string("open for ") + end + " in pids " + pid_list(users.empty() ? owners : users));
  }
}

void Joiner::join_named_pipe(pid_t pid, Wait& wait) {
  const auto named = node_.named_pipes.find(capture_.tables.text(wait.path));
  if (named == node_.named_pipes.end()) {
    return;
  }
  AwaitedFile file{wait.fd, wait.path};
  join_pipe(pid, named->second, wait, file);
  wait.rare.edit().awaited = {file};
  wait.rare.edit().awaited_count = 1;
}

void Joiner::join_socket(std::size_t process,
                         std::uint64_t inode,
                         const ThreadCapture& thread,
                         Wait& wait,
                         AwaitedFile& file) {
  const SocketTable* table = node_.table_of(process);
  const SocketRow* row = table == nullptr ? nullptr : table->by_inode(inode);
  if (row == nullptr) {
    const auto local = node_.local_sockets.find(inode);
    if (local != node_.local_sockets.end() && local->second.listens) {
      file.state = snapshot::kTcpListens;
    } else if (local != node_.local_sockets.end()) {
      const std::string other = join_local(process, local->second.peer, wait);
      note(file, std::string("local socket") +
                     (local->second.queued ? "; it is not accepted yet" : "") +
                     (other.empty() ? "" : "; " + other));
    }
    return;
  }
  const auto info = node_.tcp.find(inode);
  set_connection(*row, info == node_.tcp.end() ? nullptr : &info->second, capture_.tables, file);
  if (row->state == static_cast<std::uint8_t>(SocketState::kListen)) {
    return;
  }
  if (row->state == static_cast<std::uint8_t>(SocketState::kEstablished)) {
    wait.rare.edit().local = capture_.tables.string(row->local);
    wait.rare.edit().peer = capture_.tables.string(row->peer);
  }
  file.store = store_of(capture_.processes[process], thread, row->peer, capture_.tables);
  file.tls = is_below_tls(thread, capture_.tables);
  const SocketRow* other = table->other_end(*row);
  // A store only keeps what ranks put there: the missing rank need not be the one that runs the
  // store.
  if (file.store != snapshot::Store::kNone) {
    wait.rare.edit().peer = {};
  } else if (other != nullptr) {
    const SocketRow* listener = table->listener_of(*other);
    const std::string has_it =
        join_local(process, listener == nullptr ? other->inode : listener->inode, wait);
    note(file, listener == nullptr ? has_it : "it is not accepted yet; " + has_it);
  }
}

std::string Joiner::join_local(std::size_t process, std::uint64_t other, Wait& wait) {
  const pid_t pid = capture_.processes[process].pid;
  std::vector<pid_t> others = owners_.of_socket(other);
  if (!others.empty()) {
    wait.rare.edit().other_end = capture_.tables.string("socket:[" + std::to_string(other) + "]");
  }
  if (others.empty()) {
    return other == 0 ? "the other end is closed" : "";
  }
  if (others.size() > 1) {
    std::erase(others, pid);
  }
  if (others.size() == 1) {
    set_holder(others.front(), wait);
    return others.front() == pid ? std::string("the other end is in this very process")
                                 : "the other end is pid " + std::to_string(others.front());
  }
  const pid_t rank = rank_of(others);
  if (rank != 0) {
    set_holder(rank, wait);
    wait.inferred = true;
    return "the other end is pid " + std::to_string(rank) + " and processes that it started";
  }
  return "the other end is open in pids " + pid_list(others);
}

pid_t Joiner::first_of_family(const std::vector<pid_t>& pids) const {
  if (pids.size() == 1) {
    return pids.front();
  }
  std::vector<pid_t> first = pids;
  for (const ProcessCapture& process : capture_.processes) {
    if (std::find(pids.begin(), pids.end(), process.parent) != pids.end()) {
      std::erase(first, process.pid);
    }
  }
  for (const auto& [pid, parent] : node_.parents) {
    if (std::find(pids.begin(), pids.end(), parent) != pids.end()) {
      std::erase(first, pid);
    }
  }
  return first.size() == 1 ? first.front() : 0;
}

pid_t Joiner::rank_of(const std::vector<pid_t>& pids) const {
  pid_t rank = 0;
  std::set<pid_t> owners;
  for (const ProcessCapture& process : capture_.processes) {
    if (std::find(pids.begin(), pids.end(), process.pid) != pids.end()) {
      owners.insert(process.owner);
      rank = process.is_rank ? process.pid : rank;
    }
  }
  return owners.size() == 1 ? rank : 0;
}

void Joiner::keep_connections() {
  std::map<std::size_t, std::size_t> found;  // by process
  for (const OpenEnd& end : node_.ends) {
    const SocketRow* row = node_.row_of(end);
    if (row == nullptr) {
      continue;
    }
    auto& kept = capture_.processes[end.process].connections;
    const bool connected = row->state == static_cast<std::uint8_t>(SocketState::kEstablished);
    const SocketRow* other = connected ? node_.table_of(end.process)->other_end(*row) : nullptr;
    const bool is_here = other != nullptr && !owners_.of_socket(other->inode).empty();
    if (connected && !is_here && ++found[end.process] <= kMaxConnections) {
      kept.push_back({capture_.tables.string(row->local), capture_.tables.string(row->peer)});
    }
  }
  for (const auto& [process, count] : found) {
    if (count > kMaxConnections) {
      note_cut(capture_, process, count_of(count, "connection") + " to other nodes",
               kMaxConnections);
    }
  }
}

std::string Joiner::nobody(const std::string& nobody, const std::string& has_it) const {
  if (node_.cut.empty() && node_.unsearched == 0) {
    return nobody + has_it;
  }
  std::string words = nobody + " that was searched" + has_it;
  if (!node_.cut.empty()) {
    words += "; too many files to search all: of pid " + pid_list(node_.cut);
  }
  return node_.unsearched == 0
             ? words
             : words + "; no time to search " + count_of(node_.unsearched, "other process");
}

void Joiner::set_holder(pid_t pid, Wait& wait) {
  wait.holder_pid = pid;
  wait.holder_tid = 0;
  wait.holder_alive = Known::kYes;
}

}  // namespace

bool is_polled_lock(const Wait& wait) {
  return wait.on == snapshot::WaitOn::kFileLock && wait.inferred && wait.holder_pid == 0;
}

void join_ends(const NodeEnds& node, Capture& capture) {
  Joiner(node, capture).run();
  add_transfers(node, capture);
  note_unread_sockets(node, capture);
}

}  // namespace oddrank::waits
