// Sources: Lib/asyncio/locks.py of 3.8 to 3.15; trio/_sync.py of 0.35 (Lock), and
// anyio/_backends/_asyncio.py of 4.16 (Lock).
#include "cpython/tasks/lock_holders.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "cpython/bytecode/code_analysis.h"
#include "cpython/bytecode/taken_locks.h"
#include "cpython/locals.h"
#include "cpython/objects/attributes.h"

namespace oddrank::cpython {
namespace {

constexpr std::string_view kLocksFile = "/asyncio/locks.py";

// A lock, and the object that `async with` uses for it: the lock itself, or the Condition that has
// it.
struct AwaitedLock {
  Addr lock{};
  Addr entered{};
};

// Returns the lock or semaphore for which the innermost frame of the chain waits; null if it does
// not.
AwaitedLock awaited_lock(PythonMemory& memory, const CodeCache& codes, const AwaitChain& chain) {
  if (chain.frames.empty()) {
    return {};
  }
  const CodeObject& code = codes.at(chain.frames.front().code);
  const std::string_view function = code.function;
  if (!code.file.ends_with(kLocksFile) ||
      (function != "acquire" && !function.ends_with(".acquire"))) {
    return {};
  }
  AwaitedLock awaited;
  awaited.lock = read_local(memory, chain.frames.front(), "self");
  awaited.entered = awaited.lock;
  if (chain.frames.size() > 1 && codes.at(chain.frames[1].code).file.ends_with(kLocksFile)) {
    const Addr entered = read_local(memory, chain.frames[1], "self");
    awaited.entered = entered == Addr{} ? awaited.lock : entered;
  }
  return awaited;
}

// Returns in how many places its frames have the object, or a method that is bound to it, on their
// stacks: one for each `async with` in whose body they are, or which they enter.
std::size_t count_entered(PythonMemory& memory, const AwaitChain& chain, Addr object) {
  const std::uint64_t self = memory.layout().object.head + sizeof(std::uint64_t);
  std::size_t count = 0;
  for (const RawFrame& frame : chain.frames) {
    for (const Addr value : read_suspended_stack(memory, frame)) {
      const bool is_it =
          value != Addr{} && (value == object || memory.pointer_or_null(value + self) == object);
      count += is_it ? 1U : 0U;
    }
  }
  return count;
}

// Returns whether it waits to be notified by a Condition, and has given its lock back meanwhile.
bool has_given_back(PythonMemory& memory,
                    const CodeCache& codes,
                    const AwaitChain& chain,
                    Addr condition) {
  return std::any_of(chain.frames.begin(), chain.frames.end(), [&](const RawFrame& frame) {
    const CodeObject& code = codes.at(frame.code);
    return code.file.ends_with(kLocksFile) &&
           (code.function == "wait" || code.function == "Condition.wait") &&
           read_local(memory, frame, "self") == condition;
  });
}

// The locks that the coroutines of each chain have taken by acquire() and have yet to give back.
class TakenLocks {
 public:
  TakenLocks(PythonMemory& memory, const CodeCache& codes) : memory_(memory), codes_(codes) {}

  // `awaited`: the lock for which the chain waits, whose acquire() is not over; or null.
  std::vector<Addr> of(const AwaitChain& chain, Addr awaited);

 private:
  static constexpr std::size_t kMaxTakerFrames = 2048;  // of all chains together

  PythonMemory& memory_;
  const CodeCache& codes_;
  CodeAnalysis analysis_{memory_};
  std::size_t budget_ = kMaxTakerFrames;
};

std::vector<Addr> TakenLocks::of(const AwaitChain& chain, Addr awaited) {
  std::vector<Addr> locks;
  for (const RawFrame& frame : chain.frames) {
    const CodeObject& code = codes_.at(frame.code);
    if (code.file.ends_with(kLocksFile)) {
      continue;
    }
    if (budget_ == 0) {
      break;
    }
    --budget_;
    for (const Addr lock : read_taken(memory_, analysis_, code, frame)) {
      if (lock != awaited) {
        locks.push_back(lock);
      }
    }
    awaited = Addr{};
  }
  return locks;
}

// Returns the name of the task that, as the lock itself says, has the lock for which the chain's
// innermost frame waits; "" if that is not known.
std::string recorded_owner(PythonMemory& memory,
                           const CodeCache& codes,
                           const TaskNames& names,
                           const AwaitChain& chain) {
  if (chain.frames.empty()) {
    return {};
  }
  const CodeObject& code = codes.at(chain.frames.front().code);
  const bool trios = code.file.ends_with("/trio/_sync.py");
  if ((!trios && !code.file.ends_with("/anyio/_backends/_asyncio.py")) ||
      !code.function.ends_with("acquire")) {
    return {};
  }
  const Addr lock = read_local(memory, chain.frames.front(), "self");
  const Addr owner = read_slot_or_attribute(memory, lock, trios ? "_owner" : "_owner_task");
  const auto name = names.find(value_of(owner));
  return name == names.end() ? std::string() : name->second;
}

}  // namespace

void find_lock_holders(PythonMemory& memory,
                       const CodeCache& codes,
                       const TaskNames& names,
                       std::vector<AwaitChain>& chains) {
  constexpr std::size_t kMaxLocks = 16;  // that are looked for
  std::vector<AwaitedLock> awaited;
  awaited.reserve(chains.size());
  for (const AwaitChain& chain : chains) {
    awaited.push_back(awaited_lock(memory, codes, chain));
  }
  std::map<Addr, std::string> holders;
  TakenLocks takers(memory, codes);
  std::vector<std::vector<Addr>> taken;
  for (const AwaitedLock& wanted : awaited) {
    if (wanted.lock == Addr{} || holders.contains(wanted.lock) || holders.size() == kMaxLocks) {
      continue;
    }
    std::vector<std::size_t> found;
    for (std::size_t at = 0; at < chains.size(); ++at) {
      // A task that waits for the lock is about to enter, and has the lock only if it has entered
      // before.
      const std::size_t least = awaited[at].lock == wanted.lock ? 2 : 1;
      std::size_t entered = count_entered(memory, chains[at], wanted.lock);
      if (wanted.entered != wanted.lock &&
          !has_given_back(memory, codes, chains[at], wanted.entered)) {
        entered += count_entered(memory, chains[at], wanted.entered);
      }
      if (entered >= least) {
        found.push_back(at);
      }
    }
    if (found.empty() && taken.empty()) {
      for (std::size_t at = 0; at < chains.size(); ++at) {
        taken.push_back(takers.of(chains[at], awaited[at].lock));
      }
    }
    for (std::size_t at = 0, entered = found.size(); entered == 0 && at < chains.size(); ++at) {
      if (std::find(taken[at].begin(), taken[at].end(), wanted.lock) != taken[at].end()) {
        found.push_back(at);
      }
    }
    holders[wanted.lock] = found.size() == 1 ? chains[found.front()].name : std::string();
  }
  for (std::size_t at = 0; at < chains.size(); ++at) {
    const auto holder = holders.find(awaited[at].lock);
    const std::string name =
        holder != holders.end() ? holder->second : recorded_owner(memory, codes, names, chains[at]);
    if (!name.empty()) {
      chains[at].awaits = name;
    }
  }
}

}  // namespace oddrank::cpython
