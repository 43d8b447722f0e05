// One rank as the analysis sees it: whether it was read, which thread is its decider, and whether
// that thread moved between the samples.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "aggregate/frames/frame_model.h"
#include "base/small/slim_vector.h"
#include "snapshot/capture.h"
#include "snapshot/loops/python_loop.h"

namespace oddrank::aggregate {

enum class Presence : std::uint8_t {
  kRead = 0,  // what it does is known, though it may have been read in part (RankView::in_part)
  kPartial,   // /proc gave something (state, wchan); stacks are missing or incomplete
  kUnread,    // it may exist: its node did not answer, or it could not be read
  kAbsent,    // expected on a node that was read, and not found there
  kDead,      // exists as a zombie
  kRecorded,  // only its flight recorder was read
};

// What changed between the samples of a decider thread.
struct Motion {
  bool measured = false;  // two samples at least
  bool stack = false;     // it was at different places
  bool locals = false;    // locals of its Python functions changed: it got on
  bool calls = false;     // it made calls in a group
  bool cpu = false;       // it used the CPU
  bool woke = false;      // it slept and woke more than once
  bool settled = false;   // it has not run for longer than a step takes; earlier motion is left out
  std::uint64_t cpu_us = 0;

  bool moved() const { return measured && (stack || locals || cpu || woke); }
  bool still() const { return measured && !moved(); }
};

struct ServingCoroutine;

struct RankView {
  std::int32_t rank = -1;  // -1: a process given by pid, without a rank
  std::string host;        // "" = unknown
  std::string_view label;  // its process's name for people (ProcessCapture::label); "" = unknown
  Presence presence = Presence::kUnread;
  std::string why;                                       // if presence is not kRead, or in_part
  const snapshot::ProcessCapture* process = nullptr;     // null if none is known
  SlimVector<const snapshot::ProcessCapture*> children;  // by pid
  const snapshot::ThreadCapture* decider = nullptr;      // null: no thread was read
  // Other threads of the process that are in a call of a communication library for the program. The
  // decider does not wait for them.
  SlimVector<const snapshot::ThreadCapture*> beside;
  Motion motion;
  std::optional<snapshot::PollOn> polls;  // what the decider polls for
  // The ranks that may run a function for the decider, which waits for the result; indices into
  // JobView::ranks(). The decider of each is the thread that runs it.
  SlimVector<std::size_t> servers;
  const snapshot::ThreadCapture* caller = nullptr;  // the thread that waits for them
  // Requests for resources; the caller waits for one of them. Then `servers` are ranks that have
  // some of what is requested.
  SlimVector<const snapshot::ResourceRequest*> wants;
  // It runs a function for callers, and speaks for the rank if `decider` is its thread. Null: none.
  const ServingCoroutine* coroutine = nullptr;
  bool launched = false;  // the launcher says that it started this rank, on a node that answered
  // Its calls, if they were read from its memory beside the stacks; null if not.
  const snapshot::FlightRecord* recorded = nullptr;

  // Returns whether it has no number and no other part in the job: it may be any rank.
  bool may_be_rank() const {
    return rank < 0 && (process == nullptr || process->role == snapshot::JobRole::kUnknown);
  }
  pid_t pid() const { return process == nullptr ? 0 : process->pid; }
  // Returns the state letter of the decider's last sample, or else the process's; '?' if unknown.
  char state() const;
  const snapshot::ThreadSample* sample() const;  // the decider's last
  bool speaks_by_coroutine() const;
  // Returns whether it waits for resources that no working process has.
  bool lacks_resources() const { return !wants.empty() && servers.empty(); }
  // Returns whether something of it was read, but not all; `why` says what is missing.
  bool in_part() const;
  // Returns whether the decider was in state T or t in every sample: another tool may stop a thread
  // for an instant.
  bool stays_stopped() const;
  // Returns whether it ended by its own fault or abort(), and not because others made it wait or
  // end: watchdogs abort from their own threads, and a process that ends may crash on its way out.
  bool crashed() const;
};

inline const snapshot::ThreadSample* RankView::sample() const {
  return decider == nullptr ? nullptr : last_sample(*decider);
}

inline char RankView::state() const {
  if (const auto* last = sample(); last != nullptr && last->state != '?') {
    return last->state;
  }
  return process == nullptr ? '?' : process->state;
}

// Returns whether the process has exited: what remains is a zombie.
bool is_dead(const snapshot::ProcessCapture& process);

// Returns its main thread; null if it was not read.
const snapshot::ThreadCapture* main_thread(const snapshot::ProcessCapture& process);

// Returns what can be known about a process that was found.
Presence presence_of(const snapshot::ProcessCapture& process);

}  // namespace oddrank::aggregate
