// Callers of frames that no table describes: of a C library built without them (musl), of
// assembler, and of code that was made at run time.
#include <algorithm>

#include "unwind/call_site.h"
#include "unwind/machine/registers.h"
#include "unwind/stack_walk.h"

namespace oddrank::unwind {
namespace {

using snapshot::StackEnd;

// How far from a thread's first frame the next one may be, which is the C library's as well.
constexpr std::uint64_t kMaxFirstFrame = 256;

}  // namespace

bool StackWalk::is_handlers_end(const FrameCandidate& candidate) {
  const auto saved = candidate.to_kernel
                         ? interrupted_registers(candidate.frame_end, space_.memory())
                         : std::nullopt;
  return saved && is_code(saved->pc) && target_.maps().find(attach::Addr{saved->sp}) != nullptr;
}

bool StackWalk::is_linked(const FrameCandidate& candidate, unw_cursor_t cursor) {
  const std::uint64_t pc = candidate.return_address - 1;
  space_.step(cursor);
  if (!space_.notes.no_table || code_.around(pc).kind != CodeAround::Kind::kFunction) {
    return false;
  }
  const auto callers = find_callers(target_.maps(), space_.memory(), candidate.frame_end,
                                    signature_of(*space_.registers), pc, code_);
  return !callers.empty() && callers.front().proven();
}

bool StackWalk::is_outermost(std::uint64_t return_address) {
  return code_.around(return_address - 1).begins_program ||
         ends_thread(return_address, space_.memory());
}

// A cursor cannot begin in the middle of a stack with the registers of that frame, so it gets those
// of the caller that are certain.
bool StackWalk::begin_at(const FrameCandidate& candidate, bool pointer, unw_cursor_t& cursor) {
  attach::Registers& there = guessed_.emplace_back();
  // Inside the call, as tables are searched.
  there.pc = candidate.return_address - (candidate.to_kernel ? 0 : 1);
  there.sp = candidate.frame_end;
  space_.registers = &there;
  space_.frame_pointer = pointer ? candidate.callers_pointer : std::nullopt;
  return space_.begin(cursor);
}

std::optional<NativeStack> StackWalk::complete_from(const unw_cursor_t& cursor,
                                                    std::uint64_t stack_pointer,
                                                    const Signals& signals) {
  const auto* const registers_before = space_.registers;
  const auto pointer_before = space_.frame_pointer;
  ++trials_deep_;
  unw_cursor_t trial = cursor;
  NativeStack stack = walk(trial, stack_pointer, kMaxTrialFrames, signals);
  --trials_deep_;
  space_.registers = registers_before;
  space_.frame_pointer = pointer_before;
  if (stack.end != StackEnd::kComplete) {
    return std::nullopt;
  }
  return stack;
}

// If libunwind found a frame by the frame pointer, it does not say where that frame ends.
StackWalk::Caller StackWalk::caller_by_pointer(unw_cursor_t& frame,
                                               unw_cursor_t& cursor,
                                               std::uint64_t stack_pointer) {
  const std::uint64_t record = register_of(frame, frame_pointer_register()) + kWord;
  const std::uint64_t return_address = register_of(cursor, UNW_REG_IP);
  const auto by_record = space_.memory().word(record) == return_address
                             ? candidate_at(record, return_address, space_.memory())
                             : std::nullopt;
  if (by_record && by_record->frame_end > stack_pointer) {
    begin_at(*by_record, true, cursor);
  }
  return Caller{return_address, std::nullopt};
}

// Prefers a call that leads to exactly this code; then the frame pointer; then any caller with
// which the stack reaches its end, or the next caller at least is proven. Heuristic: code that
// keeps no frame pointer and is called through a pointer may have a stale return address before the
// true one. So in the code of a module one such guess must not be based on another: almost any word
// leads to the end of the stack by a few guesses. The first frames of a thread are an exception.
std::optional<StackWalk::Caller> StackWalk::search_caller(unw_cursor_t& frame,
                                                          unw_cursor_t& cursor,
                                                          std::uint64_t pc,
                                                          std::uint64_t stack_pointer,
                                                          int stepped,
                                                          const Signals& signals) {
  if (searches_left_ == 0) {
    return std::nullopt;
  }
  --searches_left_;
  const bool by_pointer =
      stepped > 0 && is_code(register_of(cursor, UNW_REG_IP)) &&
      register_of(cursor, UNW_REG_SP) > stack_pointer &&
      call_before(register_of(cursor, UNW_REG_IP), space_.memory()).kind != CallKind::kNone;
  const CodeAround own = code_.around(pc);
  const auto* const registers_before = space_.registers;
  const auto pointer_before = space_.frame_pointer;
  const auto candidates = find_callers(target_.maps(), space_.memory(), stack_pointer,
                                       signature_of(*space_.registers), pc, code_);
  const auto is_first = [this, stack_pointer](const FrameCandidate& one) {
    return one.frame_end - stack_pointer <= kMaxFirstFrame && is_outermost(one.return_address);
  };
  const bool may_guess = own.module == nullptr || trials_deep_ == 0 ||
                         std::any_of(candidates.begin(), candidates.end(), is_first);
  for (const FrameCandidate& candidate : candidates) {
    if (by_pointer && !candidate.proven() && !candidate.to_kernel) {
      break;
    }
    unw_cursor_t found{};
    const bool certain = (candidate.proven() && own.kind != CodeAround::Kind::kMapping) ||
                         is_first(candidate) || is_handlers_end(candidate);
    if (certain && begin_at(candidate, candidate.end_is_guess, found)) {
      cursor = found;
      return Caller{candidate.return_address, std::nullopt};
    }
    if ((candidate.proven() || may_guess) && trials_left_ > 0 && begin_at(candidate, true, found)) {
      --trials_left_;
      auto rest = complete_from(found, candidate.frame_end - 1, signals);
      if (rest || is_linked(candidate, found)) {
        cursor = found;
        return Caller{candidate.return_address, std::move(rest)};
      }
    }
    space_.registers = registers_before;
    space_.frame_pointer = pointer_before;
  }
  space_.notes.no_table = true;  // the trials have overwritten it
  if (!by_pointer) {
    return std::nullopt;
  }
  return caller_by_pointer(frame, cursor, stack_pointer);
}

}  // namespace oddrank::unwind
