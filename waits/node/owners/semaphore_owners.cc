#include "waits/node/owners/semaphore_owners.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/parse_number.h"
#include "base/split.h"
#include "cpython/python_sample.h"
#include "waits/node/node_family.h"
#include "waits/python/semaphore_objects.h"

namespace oddrank::waits {
namespace {

using attach::Addr;
using attach::Target;
using snapshot::Capture;
using snapshot::Known;
using snapshot::ProcessCapture;
using snapshot::Wait;

// The memory of so many processes is read. A node of eight ranks has hundreds of loader processes;
// the time of the search ends earlier than this.
constexpr std::size_t kMaxProcesses = 16384;

struct SemaphoreFile {
  std::uint32_t device = 0;
  std::uint64_t inode = 0;
  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 takes the 0 of <=> for a pointer
  auto operator<=>(const SemaphoreFile&) const = default;
};

// Identifies a semaphore independent of its address in a process.
struct SemaphoreId {
  SemaphoreFile file;
  std::uint64_t offset = 0;
  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 takes the 0 of <=> for a pointer
  auto operator<=>(const SemaphoreId&) const = default;
};

struct SemaphoreOwner {
  pid_t pid = 0;
  pid_t tid = 0;
  bool recursive = false;
  bool releaser = false;  // has released it more often than acquired, so it is not an owner
  bool alone = false;     // without a pid: only the waiter has it, and no other process can get it
};

std::set<SemaphoreFile> mapped_of(const Target& target, const std::set<SemaphoreFile>& files) {
  std::set<SemaphoreFile> mapped;
  for (const attach::Mapping& each : target.maps().listed()) {
    if (each.shared && files.contains({each.device, each.inode})) {
      mapped.insert({each.device, each.inode});
    }
  }
  return mapped;
}

std::optional<SemaphoreId> identify(const Target& target, std::uint64_t address) {
  const attach::Mapping* mapping = target.maps().find(Addr{address});
  if (mapping == nullptr || mapping->inode == 0 || !mapping->shared) {
    return std::nullopt;
  }
  return SemaphoreId{{mapping->device, mapping->inode},
                     address - mapping->start + mapping->file_offset};
}

// Returns the locks that one process has acquired, or released for others, and by which thread. The
// tid is 0 if that thread has exited.
std::map<SemaphoreId, SemaphoreOwner> acquired_by(const Target& target) {
  std::map<SemaphoreId, SemaphoreOwner> owners;
  auto python = cpython::open_python(target);
  const auto states = target.threads();
  if (!python || !states) {
    return owners;
  }
  for (const SemaphoreObject& object : SemaphoreObjects(*python).find()) {
    const auto id = object.count != 0 ? identify(target, object.semaphore) : std::nullopt;
    if (!id) {
      continue;
    }
    const auto* thread = python->by_ident(object.last_ident);
    const auto state = std::find_if(states->begin(), states->end(), [&](const auto& each) {
      return thread != nullptr && thread->target_tid != 0 && each.target_tid == thread->target_tid;
    });
    owners[*id] = {target.pid(), state == states->end() ? 0 : state->tid, object.recursive,
                   object.count < 0};
  }
  return owners;
}

// What is known of one semaphore: the owners, that is, the processes whose memory says that they
// have acquired it.
struct SemaphoreOwners {
  std::vector<SemaphoreOwner> all;
  bool complete = true;   // every process was asked
  std::size_t users = 0;  // that have mapped it
};

// What one process says about the locks.
struct SemaphoreUser {
  std::set<SemaphoreFile> files;  // that it has mapped, of those that threads wait for
  std::map<SemaphoreId, SemaphoreOwner> acquired;
};

// Runs in the child.
class OwnerSearch {
 public:
  OwnerSearch(const Capture& capture, const OpenTarget& open) : capture_(capture), open_(open) {}

  // Returns "PID TID FLAG" for a wait whose holder is found, with PID 0 if no process holds the
  // lock. FLAG: the lock is recursive; for PID 0: only the waiter has it.
  std::string owner_words(const std::vector<WaitPlace>& places, std::size_t i);

 private:
  void find_locks(const std::vector<WaitPlace>& places);
  std::optional<SemaphoreId> lock_of(const WaitPlace& place);
  // Returns the processes whose memory says that they hold it, among the waiter's family or among
  // all others of its node.
  SemaphoreOwners owners_of(const ProcessCapture& waiter, const SemaphoreId& id, bool family);
  // The pid is 0 if no process holds it, or several do (a process that was forked while the lock
  // was held also has its parent's count), or if processes pass it to each other. Ranks that one
  // process has started may share a lock, so others are read if the family does not hold it.
  // Returns nullopt if some could not be asked.
  std::optional<SemaphoreOwner> owner_of(const ProcessCapture& waiter, const SemaphoreId& id);

  // Null if it could not be asked.
  const SemaphoreUser* look_at(pid_t pid);

  const Capture& capture_;
  const OpenTarget& open_;
  std::vector<std::optional<SemaphoreId>> locks_;  // of the places
  std::set<SemaphoreFile> files_;                  // of the locks that threads wait for
  std::set<SemaphoreFile> unlinked_;               // those that no process can open any more
  std::map<pid_t, std::optional<SemaphoreUser>> known_;
};

void OwnerSearch::find_locks(const std::vector<WaitPlace>& places) {
  for (const WaitPlace& place : places) {
    locks_.push_back(lock_of(place));
    if (locks_.back()) {
      files_.insert(locks_.back()->file);
    }
  }
}

std::string OwnerSearch::owner_words(const std::vector<WaitPlace>& places, std::size_t i) {
  if (i == 0) {
    find_locks(places);
  }
  const auto owner = locks_[i] ? owner_of(capture_.processes[places[i].process], *locks_[i])
                               : std::optional<SemaphoreOwner>();
  return owner ? std::to_string(owner->pid) + " " + std::to_string(owner->tid) +
                     (owner->recursive || owner->alone ? " 1" : " 0")
               : std::string();
}

std::optional<SemaphoreId> OwnerSearch::lock_of(const WaitPlace& place) {
  const ProcessCapture& process = capture_.processes[place.process];
  const auto target = open_(process.pid);
  if (!target) {
    return std::nullopt;
  }
  const std::uint64_t address = process.threads[place.thread].wait.address;
  const auto id = identify(**target, address);
  if (id && (*target)->maps().find(Addr{address})->deleted) {
    unlinked_.insert(id->file);
  }
  return id;
}

std::optional<SemaphoreOwner> OwnerSearch::owner_of(const ProcessCapture& waiter,
                                                    const SemaphoreId& id) {
  SemaphoreOwners owners = owners_of(waiter, id, true);
  if (owners.all.empty()) {
    const SemaphoreOwners family = std::move(owners);
    owners = owners_of(waiter, id, false);
    owners.complete = owners.complete && family.complete;
    owners.users += family.users;
  }
  if (owners.all.size() == 1 && !owners.all.front().releaser) {
    return owners.all.front();
  }
  if (!owners.complete) {
    return std::nullopt;
  }
  SemaphoreOwner nobody;
  nobody.alone = owners.all.empty() && owners.users == 1 && unlinked_.contains(id.file);
  return nobody;
}

SemaphoreOwners OwnerSearch::owners_of(const ProcessCapture& waiter,
                                       const SemaphoreId& id,
                                       bool family) {
  SemaphoreOwners owners;
  for (const ProcessCapture& each : capture_.processes) {
    if (each.node != waiter.node || (each.owner == waiter.owner) != family || is_dead(each)) {
      continue;
    }
    const auto* of_process = look_at(each.pid);
    if (of_process == nullptr) {
      owners.complete = false;
      continue;
    }
    owners.users += of_process->files.contains(id.file) ? 1 : 0;
    const auto found = of_process->acquired.find(id);
    if (found != of_process->acquired.end()) {
      owners.all.push_back(found->second);
    }
  }
  return owners;
}

const SemaphoreUser* OwnerSearch::look_at(pid_t pid) {
  const auto [at, is_new] = known_.try_emplace(pid);
  if (is_new && known_.size() <= kMaxProcesses) {
    if (const auto target = open_(pid)) {
      at->second = SemaphoreUser{mapped_of(**target, files_), {}};
      // A process that does not map a lock has not acquired it.
      if (!at->second->files.empty()) {
        at->second->acquired = acquired_by(**target);
      }
    }
  }
  return at->second ? &*at->second : nullptr;
}

std::optional<SemaphoreOwner> parse_owner(std::string_view line) {
  const auto pid = parse_number<pid_t>(take_piece(line, ' '));
  const auto tid = parse_number<pid_t>(take_piece(line, ' '));
  if (!pid || !tid) {
    return std::nullopt;
  }
  return SemaphoreOwner{*pid, *tid, *pid != 0 && line == "1", false, *pid == 0 && line == "1"};
}

void set_semaphore_owner(Capture& capture, const WaitPlace& place, const SemaphoreOwner& owner) {
  Wait& wait = capture.processes[place.process].threads[place.thread].wait;
  if (owner.pid == 0) {
    wait.lock.owner =
        owner.alone ? snapshot::LockOwner::kNobodyElse : snapshot::LockOwner::kNobodyAcquired;
    return;
  }
  wait.holder_pid = owner.pid;
  wait.holder_tid = owner.tid;
  wait.holder_alive = owner.tid == 0 ? Known::kUnknown : Known::kYes;
  wait.inferred = !owner.recursive;
  wait.lock.owner = snapshot::LockOwner::kAcquired;
}

}  // namespace

void name_semaphore_owners(Capture& capture,
                           const OpenTarget& open,
                           std::chrono::milliseconds patience) {
  const std::vector<WaitPlace> places = find_waits(capture, [](const Wait& wait) {
    return wait.how == snapshot::WaitHow::kLock && wait.lock.kind == snapshot::LockKind::kShared &&
           wait.address != 0 && wait.holder_pid == 0;
  });
  OwnerSearch search(capture, open);
  const auto answers = answers_in_child(
      places.size(), patience, [&](std::size_t i) { return search.owner_words(places, i); });
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (const auto owner = parse_owner(answers[i])) {
      set_semaphore_owner(capture, places[i], *owner);
    }
  }
}

}  // namespace oddrank::waits
