#include "unwind/stack_walk.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

#include "snapshot/frame.h"
#include "unwind/call_site.h"
#include "unwind/machine/registers.h"

namespace oddrank::unwind {
namespace {

using snapshot::StackEnd;

// Searches for callers in one stack: each looks at a thousand words.
constexpr std::size_t kMaxSearches = 1024;

// Continues a stack with frames that were unwound before. `first`: what is known of the first of
// these frames.
void append_rest(NativeStack& stack,
                 const NativeFrame& first,
                 NativeStack rest,
                 std::size_t limit) {
  rest.frames.front().pc = first.pc;
  rest.frames.front().flags |= first.flags;
  const std::size_t room = limit - stack.frames.size();
  stack.end = rest.frames.size() > room ? StackEnd::kLimit : rest.end;
  rest.frames.resize(std::min(rest.frames.size(), room));
  std::move(rest.frames.begin(), rest.frames.end(), std::back_inserter(stack.frames));
}

}  // namespace

bool StackWalk::is_code(std::uint64_t pc) const {
  const attach::Mapping* mapping = target_.maps().find(attach::Addr{pc});
  return mapping != nullptr && mapping->executable;
}

bool StackWalk::is_kept(std::uint64_t pc) const {
  return std::any_of(kept_.begin(), kept_.end(),
                     [pc](const elf::ElfRange& range) { return pc - range.address < range.size; });
}

void StackWalk::keep_frame(unw_cursor_t& own, unw_cursor_t& caller, NativeFrame& frame) {
  for (const int number : kept_registers()) {
    const std::uint64_t value = register_of(own, number);
    if (value != 0 && value != register_of(caller, number)) {
      frame.words.push_back({value, 0});
    }
  }
  const std::uint64_t from = register_of(own, UNW_REG_SP);
  for (std::uint64_t at = from; at < frame.cfa && at - from < kMaxKeptWords * kWord; at += kWord) {
    const auto value = space_.memory().word(at);
    if (value && *value != 0) {
      frame.words.push_back({*value, at});
    }
  }
}

int StackWalk::step_or_search(unw_cursor_t& cursor, std::uint64_t stack_pointer, bool& heuristic) {
  unw_cursor_t before = cursor;
  const int stepped = space_.step(cursor);
  if (stepped >= 0 || !space_.notes.needs_frame_pointer || space_.notes.no_table) {
    return stepped;
  }
  unw_proc_info_t function{};
  if (unw_get_proc_info(&before, &function) != 0) {
    return stepped;
  }
  for (const FrameCandidate& candidate :
       find_frames(target_.maps(), space_.memory(), stack_pointer, signature_of(*space_.registers),
                   function.start_ip)) {
    if (believable(candidate, before, cursor)) {
      heuristic = true;
      return 1;
    }
    space_.frame_pointer.reset();
  }
  cursor = before;
  return space_.step(cursor);  // fails as before, with the reason
}

bool StackWalk::believable(const FrameCandidate& candidate,
                           const unw_cursor_t& frame,
                           unw_cursor_t& cursor) {
  // Most functions of x86-64 keep rbp 16 bytes below the frame's end, some (libffi's) elsewhere.
  // The first step shows the distance, which the function's own table determines.
  space_.frame_pointer = candidate.frame_pointer;
  cursor = frame;
  if (space_.step(cursor) <= 0) {
    return false;
  }
  const std::uint64_t end = register_of(cursor, UNW_REG_SP);
  if (!candidate.end_is_guess && end != candidate.frame_end) {
    *space_.frame_pointer -= end - candidate.frame_end;
    cursor = frame;
    if (space_.step(cursor) <= 0 || register_of(cursor, UNW_REG_SP) != candidate.frame_end) {
      return false;
    }
  }
  if (register_of(cursor, UNW_REG_IP) != candidate.return_address) {
    return false;
  }
  return candidate.proven() || is_handlers_end(candidate) ||
         complete_from(cursor, register_of(cursor, UNW_REG_SP) - 1, {}).has_value();
}

bool StackWalk::leave_signal(unw_cursor_t& before, unw_cursor_t& cursor, int& stepped) {
  const bool bare = space_.notes.no_table &&
                    returns_from_signal(register_of(before, UNW_REG_IP), space_.memory());
  const auto saved =
      bare ? interrupted_registers(register_of(before, UNW_REG_SP), space_.memory()) : std::nullopt;
  if (!saved) {
    return stepped > 0 && led_out_of_signal(before, cursor);
  }
  space_.registers = &guessed_.emplace_back(*saved);
  stepped = space_.begin(cursor) ? 1 : -UNW_ENOINFO;
  return stepped > 0;
}

// The kernel's frame has the mask of signals that were blocked before, and the siginfo, which is
// set for handlers that ask for it only. The signal that is handled is blocked now and was not
// before.
int StackWalk::delivered_signal(std::uint64_t stack_pointer,
                                std::optional<std::uint64_t>& blocked) {
  const SignalFrame kernels = signal_frame();
  constexpr std::uint64_t kMaxSignal = 64;
  const auto before = space_.memory().word(stack_pointer + kernels.mask);
  const auto during = std::exchange(blocked, before);
  if (!before || !during) {
    return 0;
  }
  const std::uint64_t added = *during & ~*before;
  const std::uint64_t stored =
      space_.memory().word(stack_pointer + kernels.info).value_or(0) & 0xffffffff;
  if (stored > 0 && stored <= kMaxSignal && (added >> (stored - 1) & 1) != 0) {
    return static_cast<int>(stored);
  }
  return std::popcount(added) == 1 ? std::countr_zero(added) + 1 : 0;
}

StackWalk::Step StackWalk::step(unw_cursor_t& before,
                                unw_cursor_t& cursor,
                                const Place& place,
                                const Signals& signals) {
  Step step;
  step.result = step_or_search(cursor, place.stack_pointer, step.heuristic);
  step.out_of_signal = leave_signal(before, cursor, step.result);
  step.no_table = space_.notes.no_table && !step.out_of_signal;
  if (!step.no_table) {
    return step;
  }
  if (!place.innermost && is_outermost(place.pc)) {
    cursor = before;
    step.result = 0;
    return step;
  }
  const std::uint64_t pc = register_of(before, UNW_REG_IP) - (place.returns ? 1 : 0);
  step.caller = search_caller(before, cursor, pc, place.stack_pointer, step.result, signals);
  // libunwind takes any frame pointer that leads nowhere for the end of the stack. Only 0 means the
  // end, and only if no other frame depends on it.
  const bool marked_end =
      step.result == 0 && trials_deep_ == 0 && register_of(before, frame_pointer_register()) == 0;
  step.result = step.caller ? 1 : marked_end ? 0 : -UNW_ENOINFO;
  return step;
}

NativeStack StackWalk::walk(unw_cursor_t& cursor,
                            std::uint64_t stack_pointer,
                            std::size_t limit,
                            Signals signals) {
  NativeStack stack;
  NativeFrame frame;
  frame.pc = register_of(cursor, UNW_REG_IP);
  Place place{frame.pc, stack_pointer, false, trials_deep_ == 0};
  while (true) {
    if (stack.frames.size() >= limit) {
      stack.end = StackEnd::kLimit;
      return stack;
    }
    stack.frames.push_back(std::move(frame));
    NativeFrame& own = stack.frames.back();

    unw_cursor_t before = cursor;
    place.pc = own.pc;
    Step taken = step(before, cursor, place, signals);
    if (taken.result < 0) {
      stack.end = space_.notes.bad_memory && !taken.no_table ? StackEnd::kBadMemory
                                                             : StackEnd::kNoUnwindInfo;
      // Without a table the meaning of the registers is unknown: a frame pointer that leads on has
      // been found on the stack (search_caller), and any other value leads nowhere.
      stack.needs_registers = space_.notes.needs_registers && !taken.no_table;
      return stack;
    }
    if (taken.out_of_signal) {
      if (!std::exchange(signals.inside, true)) {
        signals.blocked = target_.blocked_signals(tid_);
      }
      own.flags |= snapshot::kSignalFrame;
      own.signal = delivered_signal(register_of(before, UNW_REG_SP), signals.blocked);
    }
    const std::uint64_t caller_sp = register_of(cursor, UNW_REG_SP);
    own.cfa = caller_sp;
    if (taken.result > 0 && is_kept(own.pc)) {
      keep_frame(before, cursor, own);
    }
    if (taken.result == 0) {
      stack.end = StackEnd::kComplete;
      return stack;
    }
    frame = {};
    frame.pc = taken.caller ? taken.caller->return_address : register_of(cursor, UNW_REG_IP);
    // Stacks grow down, except if a handler ran on a stack of its own.
    if (!is_code(frame.pc) || (caller_sp <= place.stack_pointer && !taken.out_of_signal)) {
      own.cfa = 0;
      stack.end = StackEnd::kNoUnwindInfo;
      return stack;
    }
    frame.flags |= taken.no_table || taken.heuristic ? snapshot::kHeuristic : 0;
    if (taken.caller && taken.caller->rest) {
      append_rest(stack, frame, *std::move(taken.caller->rest), limit);
      return stack;
    }
    // A function that a signal interrupted may have no frame (aarch64).
    place.stack_pointer = taken.out_of_signal ? caller_sp - 1 : caller_sp;
    place.returns = !taken.out_of_signal && !taken.caller;
    place.innermost = false;
  }
}

NativeStack StackWalk::unwind(const attach::ThreadState& thread, std::size_t limit) {
  space_.registers = &*thread.registers;
  space_.syscall = thread.syscall;
  tid_ = thread.tid;
  space_.frame_pointer.reset();
  guessed_.clear();
  trials_left_ = kMaxTrials;
  searches_left_ = kMaxSearches;
  unw_cursor_t cursor{};
  if (!space_.begin(cursor)) {
    NativeStack stack;
    stack.frames.emplace_back().pc = space_.registers->pc;
    stack.end = StackEnd::kBadMemory;
    return stack;
  }
  // One less: vfork() pops its return address, so it has no frame of its own.
  return walk(cursor, space_.registers->sp - 1, limit, {});
}

}  // namespace oddrank::unwind
