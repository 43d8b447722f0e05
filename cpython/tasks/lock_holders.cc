// Source: Lib/asyncio/locks.py of 3.8 to 3.15.
#include "cpython/tasks/lock_holders.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "cpython/locals.h"

namespace oddrank::cpython {
namespace {

// Returns the lock for which the innermost frame of the chain waits; null if it does not.
Addr awaited_lock(PythonMemory& memory, const CodeCache& codes, const AwaitChain& chain) {
  if (chain.frames.empty()) {
    return Addr{};
  }
  const CodeObject& code = codes.at(chain.frames.front().code);
  const std::string_view function = code.function;
  return code.file.ends_with("/asyncio/locks.py") &&
                 (function == "acquire" || function.ends_with("Lock.acquire"))
             ? read_local(memory, chain.frames.front(), "self")
             : Addr{};
}

// Returns whether a frame has the lock, or a method that is bound to it, on its stack.
bool has_entered(PythonMemory& memory, const AwaitChain& chain, Addr lock) {
  const std::uint64_t self = memory.layout().object.head + sizeof(std::uint64_t);
  return std::any_of(chain.frames.begin(), chain.frames.end(), [&](const RawFrame& frame) {
    const std::vector<Addr> values = read_suspended_stack(memory, frame);
    return std::any_of(values.begin(), values.end(), [&](Addr value) {
      return value != Addr{} && (value == lock || memory.pointer_or_null(value + self) == lock);
    });
  });
}

}  // namespace

void find_lock_holders(PythonMemory& memory,
                       const CodeCache& codes,
                       std::vector<AwaitChain>& chains) {
  constexpr std::size_t kMaxLocks = 16;  // that are looked for
  std::vector<Addr> locks;
  locks.reserve(chains.size());
  for (const AwaitChain& chain : chains) {
    locks.push_back(awaited_lock(memory, codes, chain));
  }
  std::map<Addr, std::string> holders;
  for (const Addr lock : locks) {
    if (lock == Addr{} || holders.contains(lock) || holders.size() == kMaxLocks) {
      continue;
    }
    std::vector<std::size_t> found;
    for (std::size_t at = 0; at < chains.size(); ++at) {
      if (locks[at] != lock && has_entered(memory, chains[at], lock)) {
        found.push_back(at);
      }
    }
    holders[lock] = found.size() == 1 ? chains[found.front()].name : std::string();
  }
  for (std::size_t at = 0; at < chains.size(); ++at) {
    const auto holder = holders.find(locks[at]);
    if (holder != holders.end() && !holder->second.empty()) {
      chains[at].awaits = holder->second;
    }
  }
}

}  // namespace oddrank::cpython
