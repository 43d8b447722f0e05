#include "waits/node/semaphore_owners.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/isolated.h"
#include "base/parse_number.h"
#include "base/split.h"
#include "cpython/open_python.h"
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

constexpr std::size_t kMaxProcesses = 256;  // whose memory is read

// Identifies a semaphore independent of its address in a process.
struct SemaphoreId {
  std::uint32_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t offset = 0;
  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 takes the 0 of <=> for a pointer
  auto operator<=>(const SemaphoreId&) const = default;
};

struct SemaphoreOwner {
  pid_t pid = 0;
  pid_t tid = 0;
  bool recursive = false;
  bool releaser = false;  // has released it more often than acquired, so it is not an owner
};

std::optional<SemaphoreId> identify(const Target& target, std::uint64_t address) {
  const attach::Mapping* mapping = target.maps().find(Addr{address});
  if (mapping == nullptr || mapping->inode == 0 || !mapping->shared) {
    return std::nullopt;
  }
  return SemaphoreId{mapping->device, mapping->inode,
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

// Runs in the child: writes a line "PROCESS THREAD PID TID RECURSIVE" for each wait whose holder is
// found.
class OwnerSearch {
 public:
  OwnerSearch(const Capture& capture, const OpenTarget& open) : capture_(capture), open_(open) {}

  void run(const std::vector<WaitPlace>& places, int fd);

 private:
  // Those that say that they hold it, among the waiter's family or among all others of its node.
  std::vector<SemaphoreOwner> owners_of(const ProcessCapture& waiter,
                                        const SemaphoreId& id,
                                        bool family);
  // Returns nullopt if no process holds it, or several do (a process that was forked while the lock
  // was held also has its parent's count), or if processes pass it to each other. Ranks that one
  // process has started may share a lock, so others are read if the family does not hold it.
  std::optional<SemaphoreOwner> owner_of(const ProcessCapture& waiter, const SemaphoreId& id);

  const std::map<SemaphoreId, SemaphoreOwner>& look_at(pid_t pid);

  const Capture& capture_;
  const OpenTarget& open_;
  std::map<pid_t, std::map<SemaphoreId, SemaphoreOwner>> known_;
};

void OwnerSearch::run(const std::vector<WaitPlace>& places, int fd) {
  for (const WaitPlace& place : places) {
    const ProcessCapture& process = capture_.processes[place.process];
    const auto target = open_(process.pid);
    const auto id =
        target ? identify(**target, process.threads[place.thread].wait.address) : std::nullopt;
    const auto owner = id ? owner_of(process, *id) : std::nullopt;
    if (owner) {
      send_bytes(fd, std::to_string(place.process) + " " + std::to_string(place.thread) + " " +
                         std::to_string(owner->pid) + " " + std::to_string(owner->tid) +
                         (owner->recursive ? " 1\n" : " 0\n"));
    }
  }
}

std::optional<SemaphoreOwner> OwnerSearch::owner_of(const ProcessCapture& waiter,
                                                    const SemaphoreId& id) {
  std::vector<SemaphoreOwner> owners = owners_of(waiter, id, true);
  if (owners.empty()) {
    owners = owners_of(waiter, id, false);
  }
  const bool one = owners.size() == 1 && !owners.front().releaser;
  return one ? std::optional(owners.front()) : std::nullopt;
}

std::vector<SemaphoreOwner> OwnerSearch::owners_of(const ProcessCapture& waiter,
                                                   const SemaphoreId& id,
                                                   bool family) {
  std::vector<SemaphoreOwner> owners;
  for (const ProcessCapture& each : capture_.processes) {
    if (each.node != waiter.node || (each.owner == waiter.owner) != family || is_dead(each)) {
      continue;
    }
    const auto& of_process = look_at(each.pid);
    if (const auto found = of_process.find(id); found != of_process.end()) {
      owners.push_back(found->second);
    }
  }
  return owners;
}

const std::map<SemaphoreId, SemaphoreOwner>& OwnerSearch::look_at(pid_t pid) {
  const auto [at, is_new] = known_.try_emplace(pid);
  if (is_new && known_.size() <= kMaxProcesses) {
    if (const auto target = open_(pid)) {
      at->second = acquired_by(**target);
    }
  }
  return at->second;
}

std::optional<WaitPlace> parse_owner(std::string_view line,
                                     const Capture& capture,
                                     SemaphoreOwner& owner) {
  const auto words = split_blanks(line);
  if (words.size() != 5) {
    return std::nullopt;
  }
  const auto process = parse_number<std::size_t>(words[0]);
  const auto thread = parse_number<std::size_t>(words[1]);
  const auto pid = parse_number<pid_t>(words[2]);
  const auto tid = parse_number<pid_t>(words[3]);
  if (!process || !thread || !pid || !tid || *process >= capture.processes.size() ||
      *thread >= capture.processes[*process].threads.size()) {
    return std::nullopt;
  }
  owner = {*pid, *tid, words[4] == "1", false};
  return WaitPlace{*process, *thread};
}

void set_semaphore_owner(Capture& capture, const WaitPlace& place, const SemaphoreOwner& owner) {
  ProcessCapture& process = capture.processes[place.process];
  Wait& wait = process.threads[place.thread].wait;
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
  if (places.empty()) {
    return;
  }
  const IsolatedTask task{[&](int fd) { OwnerSearch(capture, open).run(places, fd); }, patience};
  const IsolatedResult result = run_isolated({task}, 1).front();
  std::set<std::pair<std::size_t, std::size_t>> named;
  for (const std::string_view line : split(result.bytes, '\n')) {
    SemaphoreOwner owner;
    if (const auto place = parse_owner(line, capture, owner);
        place && named.insert({place->process, place->thread}).second) {
      set_semaphore_owner(capture, *place, owner);
    }
  }
  for (const WaitPlace& place : places) {
    if (!named.contains({place.process, place.thread})) {
      capture.processes[place.process].threads[place.thread].wait.lock.owner =
          snapshot::LockOwner::kNobodyAcquired;
    }
  }
}

}  // namespace oddrank::waits
