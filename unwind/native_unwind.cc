// Unwinds with libunwind (unwind_space.h), frame by frame, and handles unknown registers.
//
// For a blocked thread that was not stopped, only the program counter and the stack pointer are
// known. That is enough as long as each frame's address follows from the stack pointer, or from a
// register that some inner function saved to the stack. A frame that needs any other register is
// refused. If the register is the frame pointer, it is searched for (frame_search.h); otherwise the
// stack ends there.
//
// Outer frames hold return addresses; libunwind itself looks one byte before them for tables,
// except after a signal frame.
#include "unwind/native_unwind.h"

#include <libunwind.h>

#include <algorithm>
#include <bit>
#include <deque>
#include <functional>
#include <optional>
#include <unordered_map>
#include <utility>

#include "snapshot/frame.h"
#include "unwind/call_site.h"
#include "unwind/frame_search.h"
#include "unwind/known_walk.h"
#include "unwind/machine/registers.h"
#include "unwind/unwind_space.h"

namespace oddrank::unwind {
namespace {

using snapshot::StackEnd;

// How far a stack is followed to check a guess, and how often in one stack.
constexpr std::size_t kMaxTrialFrames = 512;
constexpr std::size_t kMaxTrials = 64;
// A thread is compared with so many known walks, so that the work grows with the threads only.
constexpr std::size_t kMaxTriesOfThread = 6;
constexpr std::size_t kMaxReadAtOnce = std::size_t{1} << 20;

std::uint64_t register_of(unw_cursor_t& cursor, int number) {
  unw_word_t value = 0;
  return unw_get_reg(&cursor, number, &value) == 0 ? value : 0;
}

}  // namespace

struct NativeUnwinder::Impl {
  Impl(const attach::Target& the_target, elf::ModuleMap& modules);

  const attach::Target& target;
  UnwindSpace space;

  // Registers of guessed frames of the current thread; cursors keep reading them.
  std::deque<attach::Registers> guessed;
  std::size_t trials_left = 0;
  pid_t tid = 0;  // of the current thread
  std::vector<elf::ElfRange> kept;
  bool is_kept(std::uint64_t pc) const;
  // Adds the registers that the frame at `own` has changed, and the words from its stack pointer to
  // its end. `caller`: one step further.
  void keep_words(unw_cursor_t& own, unw_cursor_t& caller, NativeFrame& frame);

  bool is_code(std::uint64_t pc) const;
  // Takes one step; if that needs the unknown frame pointer, searches for it above `stack_pointer`.
  // Sets `heuristic` if it was found.
  int step_or_search(unw_cursor_t& cursor, std::uint64_t stack_pointer, bool& heuristic);
  // Finds the caller of a frame without a table, and moves `cursor` there. `stepped` is the result
  // of libunwind's step by the frame pointer. Returns nullopt if nothing better is found.
  std::optional<std::uint64_t> search_caller(const unw_cursor_t& frame,
                                             unw_cursor_t& cursor,
                                             std::uint64_t stack_pointer,
                                             int stepped);
  // Returns whether a stack that continues at the candidate's caller reaches its end.
  bool is_caller(const FrameCandidate& candidate, unw_cursor_t& cursor);
  // Returns whether `frame` may end where the candidate says; if so, `cursor` is at its caller.
  bool believable(const FrameCandidate& candidate, const unw_cursor_t& frame, unw_cursor_t& cursor);
  // Returns the signal for which the kernel made the frame; 0 if that is uncertain.
  // `stack_pointer`: in the trampoline. `blocked`: the signals that are blocked in its handler;
  // afterwards those that were before it.
  int delivered_signal(std::uint64_t stack_pointer, std::optional<std::uint64_t>& blocked);
  NativeStack walk(unw_cursor_t& cursor, std::uint64_t stack_pointer, std::size_t limit);
  // Unwinds once the space's memory is the thread's.
  NativeStack unwind(const attach::ThreadState& thread, std::size_t limit);
  // Does the same, and returns what recognises the same stack of other threads, if that is
  // possible.
  std::optional<KnownWalk> unwind_to_know(const attach::ThreadState& thread,
                                          std::size_t limit,
                                          NativeStack& stack);
  // Reads the decisive parts of the stacks of these threads, and calls `found` with the frames of
  // those that are where the walk was.
  void recognise(const KnownWalk& walk,
                 std::span<const attach::ThreadState* const> threads,
                 const std::function<void(std::size_t, NativeStack)>& found) const;
};

NativeUnwinder::Impl::Impl(const attach::Target& the_target, elf::ModuleMap& modules)
    : target(the_target), space(the_target, modules) {}

bool NativeUnwinder::Impl::is_code(std::uint64_t pc) const {
  const attach::Mapping* mapping = target.maps().find(attach::Addr{pc});
  return mapping != nullptr && mapping->executable;
}

bool NativeUnwinder::Impl::is_kept(std::uint64_t pc) const {
  return std::any_of(kept.begin(), kept.end(),
                     [pc](const elf::ElfRange& range) { return pc - range.address < range.size; });
}

void NativeUnwinder::Impl::keep_words(unw_cursor_t& own, unw_cursor_t& caller, NativeFrame& frame) {
  for (const int number : kept_registers()) {
    const std::uint64_t value = register_of(own, number);
    if (value != 0 && value != register_of(caller, number)) {
      frame.words.push_back({value, 0});
    }
  }
  const std::uint64_t from = register_of(own, UNW_REG_SP);
  for (std::uint64_t at = from; at < frame.cfa && at - from < kMaxKeptWords * kWord; at += kWord) {
    const auto value = space.memory().word(at);
    if (value && *value != 0) {
      frame.words.push_back({*value, at});
    }
  }
}

int NativeUnwinder::Impl::step_or_search(unw_cursor_t& cursor,
                                         std::uint64_t stack_pointer,
                                         bool& heuristic) {
  unw_cursor_t before = cursor;
  const int stepped = space.step(cursor);
  if (stepped >= 0 || !space.notes.needs_frame_pointer || space.notes.no_table) {
    return stepped;
  }
  unw_proc_info_t function{};
  if (unw_get_proc_info(&before, &function) != 0) {
    return stepped;
  }
  for (const FrameCandidate& candidate :
       find_frames(target.maps(), space.memory(), stack_pointer, signature_of(*space.registers),
                   function.start_ip)) {
    if (believable(candidate, before, cursor)) {
      heuristic = true;
      return 1;
    }
    space.frame_pointer.reset();
  }
  cursor = before;
  return space.step(cursor);  // fails as before, with the reason
}

bool NativeUnwinder::Impl::believable(const FrameCandidate& candidate,
                                      const unw_cursor_t& frame,
                                      unw_cursor_t& cursor) {
  // Most functions of x86-64 keep rbp 16 bytes below the frame's end, some (libffi's) elsewhere.
  // The first step shows the distance, which the function's own table determines.
  space.frame_pointer = candidate.frame_pointer;
  cursor = frame;
  if (space.step(cursor) <= 0) {
    return false;
  }
  const std::uint64_t end = register_of(cursor, UNW_REG_SP);
  if (!candidate.end_is_guess && end != candidate.frame_end) {
    *space.frame_pointer -= end - candidate.frame_end;
    cursor = frame;
    if (space.step(cursor) <= 0 || register_of(cursor, UNW_REG_SP) != candidate.frame_end) {
      return false;
    }
  }
  if (register_of(cursor, UNW_REG_IP) != candidate.return_address) {
    return false;
  }
  if (candidate.proven) {
    return true;
  }
  unw_cursor_t trial = cursor;
  return walk(trial, register_of(cursor, UNW_REG_SP) - 1, kMaxTrialFrames).end ==
         StackEnd::kComplete;
}

// A cursor cannot begin in the middle of a stack with the registers of that frame, so it gets those
// of the caller that are certain.
bool NativeUnwinder::Impl::is_caller(const FrameCandidate& candidate, unw_cursor_t& cursor) {
  attach::Registers there;
  there.pc = candidate.return_address - 1;  // inside the call, as tables are searched
  there.sp = candidate.frame_end;
  const auto* const registers_before = space.registers;
  const auto pointer_before = space.frame_pointer;
  guessed.push_back(there);
  space.registers = &guessed.back();
  const auto* const registers_there = space.registers;
  space.frame_pointer = candidate.callers_pointer;
  const auto pointer_there = space.frame_pointer;
  if (space.begin(cursor)) {
    unw_cursor_t trial = cursor;
    const StackEnd end = walk(trial, candidate.frame_end - 1, kMaxTrialFrames).end;
    space.registers = registers_there;
    space.frame_pointer = pointer_there;
    if (end == StackEnd::kComplete) {
      return true;
    }
  }
  space.registers = registers_before;
  space.frame_pointer = pointer_before;
  return false;
}

// Prefers a call to exactly this code; then the frame pointer; then any caller with which the stack
// reaches its end. Heuristic: code that keeps no frame pointer and is called through a pointer may
// have a stale return address before the true one.
std::optional<std::uint64_t> NativeUnwinder::Impl::search_caller(const unw_cursor_t& frame,
                                                                 unw_cursor_t& cursor,
                                                                 std::uint64_t stack_pointer,
                                                                 int stepped) {
  unw_cursor_t before = frame;
  const std::uint64_t pc = register_of(before, UNW_REG_IP);
  const bool by_pointer =
      stepped > 0 && is_code(register_of(cursor, UNW_REG_IP)) &&
      register_of(cursor, UNW_REG_SP) > stack_pointer &&
      call_before(register_of(cursor, UNW_REG_IP), space.memory()).kind != CallKind::kNone;
  for (const FrameCandidate& candidate : find_callers(target.maps(), space.memory(), stack_pointer,
                                                      signature_of(*space.registers), pc)) {
    if (trials_left == 0 || (by_pointer && !candidate.proven)) {
      break;
    }
    --trials_left;
    unw_cursor_t found{};
    if (is_caller(candidate, found)) {
      cursor = found;
      return candidate.return_address;
    }
  }
  space.notes.no_table = true;  // the trials have overwritten it
  return std::nullopt;
}

// The kernel's frame has the mask of signals that were blocked before, and the siginfo, which is
// set for handlers that ask for it only. The signal that is handled is blocked now and was not
// before.
int NativeUnwinder::Impl::delivered_signal(std::uint64_t stack_pointer,
                                           std::optional<std::uint64_t>& blocked) {
  const SignalFrame kernels = signal_frame();
  constexpr std::uint64_t kMaxSignal = 64;
  const auto before = space.memory().word(stack_pointer + kernels.mask);
  const auto during = std::exchange(blocked, before);
  if (!before || !during) {
    return 0;
  }
  const std::uint64_t added = *during & ~*before;
  const std::uint64_t told =
      space.memory().word(stack_pointer + kernels.info).value_or(0) & 0xffffffff;
  if (told > 0 && told <= kMaxSignal && (added >> (told - 1) & 1) != 0) {
    return static_cast<int>(told);
  }
  return std::popcount(added) == 1 ? std::countr_zero(added) + 1 : 0;
}

NativeStack NativeUnwinder::Impl::walk(unw_cursor_t& cursor,
                                       std::uint64_t stack_pointer,
                                       std::size_t limit) {
  NativeStack stack;
  NativeFrame frame;
  frame.pc = register_of(cursor, UNW_REG_IP);
  std::optional<std::uint64_t> blocked;
  bool in_signal = false;
  while (true) {
    if (stack.frames.size() >= limit) {
      stack.end = StackEnd::kLimit;
      return stack;
    }
    stack.frames.push_back(std::move(frame));

    bool heuristic = false;
    unw_cursor_t before = cursor;
    int stepped = step_or_search(cursor, stack_pointer, heuristic);
    std::optional<std::uint64_t> caller;
    const bool out_of_signal = stepped > 0 && led_out_of_signal(before, cursor);
    if (space.notes.no_table && !out_of_signal) {
      caller = search_caller(before, cursor, stack_pointer, stepped);
      stepped = caller ? 1 : stepped;
    }
    if (stepped < 0) {
      stack.end = space.notes.bad_memory && !space.notes.no_table ? StackEnd::kBadMemory
                                                                  : StackEnd::kNoUnwindInfo;
      // Without a table nobody knows what is in the registers: a frame pointer that leads on has
      // been found on the stack (search_caller), and any other value leads nowhere.
      stack.needs_registers = space.notes.needs_registers && !space.notes.no_table;
      return stack;
    }
    if (out_of_signal) {
      if (!std::exchange(in_signal, true)) {
        blocked = target.blocked_signals(tid);
      }
      stack.frames.back().flags |= snapshot::kSignalFrame;
      stack.frames.back().signal = delivered_signal(register_of(before, UNW_REG_SP), blocked);
    }
    const std::uint64_t caller_sp = register_of(cursor, UNW_REG_SP);
    stack.frames.back().cfa = caller_sp;
    if (stepped > 0 && is_kept(stack.frames.back().pc)) {
      keep_words(before, cursor, stack.frames.back());
    }
    if (stepped == 0) {
      stack.end = StackEnd::kComplete;
      return stack;
    }
    frame = {};
    frame.pc = caller.value_or(register_of(cursor, UNW_REG_IP));
    // Stacks grow down, except if a handler ran on a stack of its own. Without a table libunwind
    // follows the frame pointer, which counts only if it leads to the end of a call.
    if (!is_code(frame.pc) || (caller_sp <= stack_pointer && !out_of_signal) ||
        (space.notes.no_table && !caller &&
         call_before(frame.pc, space.memory()).kind == CallKind::kNone)) {
      stack.frames.back().cfa = 0;
      stack.end = StackEnd::kNoUnwindInfo;
      return stack;
    }
    if (space.notes.no_table || heuristic || caller) {
      frame.flags |= snapshot::kHeuristic;
    }
    // A function that a signal interrupted may have no frame (aarch64).
    stack_pointer = out_of_signal ? caller_sp - 1 : caller_sp;
  }
}

NativeUnwinder::NativeUnwinder(const attach::Target& target, elf::ModuleMap& modules)
    : impl_(std::make_unique<Impl>(target, modules)) {}
NativeUnwinder::~NativeUnwinder() = default;

void NativeUnwinder::keep_words(std::vector<elf::ElfRange> code) {
  impl_->kept = std::move(code);
}

NativeStack NativeUnwinder::Impl::unwind(const attach::ThreadState& thread, std::size_t limit) {
  space.registers = &*thread.registers;
  space.syscall = thread.syscall;
  tid = thread.tid;
  space.frame_pointer.reset();
  guessed.clear();
  trials_left = kMaxTrials;
  unw_cursor_t cursor{};
  if (!space.begin(cursor)) {
    NativeStack stack;
    stack.frames.emplace_back().pc = space.registers->pc;
    stack.end = StackEnd::kBadMemory;
    return stack;
  }
  // One less: vfork() pops its return address, so it has no frame of its own.
  return walk(cursor, space.registers->sp - 1, limit);
}

std::optional<KnownWalk> NativeUnwinder::Impl::unwind_to_know(const attach::ThreadState& thread,
                                                              std::size_t limit,
                                                              NativeStack& stack) {
  space.begin_log();
  stack = unwind(thread, limit);
  auto words = space.take_log();
  const bool decided_by_stack =
      words && stack.end == StackEnd::kComplete && trials_left == kMaxTrials && guessed.empty() &&
      !thread.registers->all && !space.memory().read_others() &&
      std::none_of(stack.frames.begin(), stack.frames.end(), [this](const NativeFrame& frame) {
        return frame.flags != 0 || is_kept(frame.pc);
      });
  if (!decided_by_stack) {
    return std::nullopt;
  }
  return KnownWalk::of(stack, thread.registers->sp, space.memory().stack_end(), *std::move(words));
}

void NativeUnwinder::Impl::recognise(
    const KnownWalk& walk,
    std::span<const attach::ThreadState* const> threads,
    const std::function<void(std::size_t, NativeStack)>& found) const {
  const std::size_t at_once =
      std::clamp<std::size_t>(kMaxReadAtOnce / std::max<std::size_t>(walk.bytes(), 1), 1, 4096);
  std::vector<std::byte> bytes;
  std::vector<attach::ReadRequest> requests;
  for (std::size_t first = 0; first < threads.size(); first += at_once) {
    const std::size_t count = std::min(at_once, threads.size() - first);
    bytes.resize(count * walk.bytes());
    requests.clear();
    std::span<std::byte> rest(bytes);
    for (std::size_t i = 0; i < count; ++i) {
      for (const KnownWalk::Piece& piece : walk.pieces()) {
        requests.push_back({attach::Addr{threads[first + i]->registers->sp + piece.offset},
                            rest.first(piece.size)});
        rest = rest.subspan(piece.size);
      }
    }
    target.read_many(requests);
    const std::size_t pieces = walk.pieces().size();
    for (std::size_t i = 0; i < count; ++i) {
      const auto own = std::span(requests).subspan(i * pieces, pieces);
      const bool whole = std::all_of(own.begin(), own.end(), [](const auto& request) {
        return request.got == request.into.size();
      });
      if (!whole) {
        continue;
      }
      const auto of_thread = std::span(bytes).subspan(i * walk.bytes(), walk.bytes());
      if (auto stack = walk.of_thread(threads[first + i]->registers->sp, of_thread)) {
        found(first + i, *std::move(stack));
      }
    }
  }
}

std::vector<NativeStack> NativeUnwinder::unwind_all(
    std::span<const attach::ThreadState* const> threads, std::size_t limit) {
  std::vector<NativeStack> stacks(threads.size());
  std::vector<std::size_t> tries(threads.size());
  std::vector<bool> done(threads.size());
  std::unordered_map<std::uint64_t, std::vector<std::size_t>> places;  // by program counter
  for (std::size_t i = 0; i < threads.size(); ++i) {
    if (threads[i]->registers && !threads[i]->registers->all) {
      places[threads[i]->registers->pc].push_back(i);
    }
  }
  for (std::size_t i = 0; i < threads.size(); ++i) {
    if (done[i]) {
      continue;
    }
    if (!threads[i]->registers) {
      stacks[i] = unwind(*threads[i], limit);
      continue;
    }
    impl_->space.memory().start_thread(threads[i]->registers->sp);
    done[i] = true;
    const auto walk = impl_->unwind_to_know(*threads[i], limit, stacks[i]);
    if (!walk) {
      continue;
    }
    std::vector<const attach::ThreadState*> others;
    std::vector<std::size_t> of;
    for (const std::size_t other : places[threads[i]->registers->pc]) {
      if (!done[other] && tries[other] < kMaxTriesOfThread) {
        ++tries[other];
        others.push_back(threads[other]);
        of.push_back(other);
      }
    }
    impl_->recognise(*walk, others, [&](std::size_t at, NativeStack stack) {
      stacks[of[at]] = std::move(stack);
      done[of[at]] = true;
    });
  }
  return stacks;
}

NativeStack NativeUnwinder::unwind(const attach::ThreadState& thread, std::size_t limit) {
  if (!thread.registers) {
    NativeStack stack;
    stack.end = thread.state == 'R' ? StackEnd::kRunning : StackEnd::kUnknown;
    return stack;
  }
  impl_->space.memory().start_thread(thread.registers->sp);
  return impl_->unwind(thread, limit);
}

NativeStack NativeUnwinder::unwind(const attach::ThreadState& thread,
                                   const StackCopy& copy,
                                   std::size_t limit) {
  if (!thread.registers) {
    return unwind(thread, limit);
  }
  impl_->space.memory().start_thread(copy);
  return impl_->unwind(thread, limit);
}

}  // namespace oddrank::unwind
