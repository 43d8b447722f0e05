// The walk over one stack, frame by frame, with libunwind (unwind_space.h), and with searches if
// tables or registers are missing.
//
// For a blocked thread that was not stopped, only the program counter and the stack pointer are
// known. That is enough as long as each frame's address follows from the stack pointer, or from a
// register that some inner function saved to the stack. A frame that needs any other register is
// refused. If the register is the frame pointer, it is searched for (frame_search.h); otherwise the
// stack ends there. The caller of code without a table is searched for, too (bare_callers.cc).
// Frames that were found by a search are marked as heuristic.
//
// Outer frames hold return addresses; libunwind itself looks up tables for the byte before, except
// after a signal frame. Private to unwind/.
#pragma once

#include <libunwind.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "attach/target.h"
#include "elf/elf_range.h"
#include "elf/module_map.h"
#include "unwind/frame_search.h"
#include "unwind/native_unwind.h"
#include "unwind/unwind_space.h"

namespace oddrank::unwind {

class StackWalk {
 public:
  // Both must outlive the walk. It serves all threads of a target, one after the other.
  StackWalk(const attach::Target& target, elf::ModuleMap& modules)
      : target_(target), space_(target, modules), code_(target, modules, space_.memory()) {}

  UnwindSpace& space() { return space_; }

  // Keeps the words of frames whose code lies in one of these ranges.
  void keep_words(std::vector<elf::ElfRange> code) { kept_ = std::move(code); }
  bool is_kept(std::uint64_t pc) const;

  // Unwinds once the space's memory is the thread's. At most `limit` frames.
  NativeStack unwind(const attach::ThreadState& thread, std::size_t limit);
  // Returns whether the last stack was found by tables alone.
  bool was_certain() const { return guessed_.empty() && trials_left_ == kMaxTrials; }

 private:
  // How many frames are followed to check a guess, and how many guesses are checked in one stack.
  static constexpr std::size_t kMaxTrialFrames = 512;
  static constexpr std::size_t kMaxTrials = 64;

  // Facts about the signals whose handlers the frames are in.
  struct Signals {
    bool inside = false;
    std::optional<std::uint64_t> blocked;
  };
  // The caller of a frame without a table; with the rest of the stack if it was unwound as a check.
  struct Caller {
    std::uint64_t return_address = 0;
    std::optional<NativeStack> rest;
  };
  // The place where a step begins.
  struct Place {
    std::uint64_t pc = 0;  // as shown for the frame: the return address
    std::uint64_t stack_pointer = 0;
    bool returns = false;  // the cursor is at a return address, perhaps the last call's
    bool innermost = false;
  };
  struct Step {
    int result = 0;  // as from unw_step
    bool out_of_signal = false;
    bool no_table = false;
    bool heuristic = false;
    std::optional<Caller> caller = {};
  };

  bool is_code(std::uint64_t pc) const;
  // Adds the registers that the frame at `own` has changed, and the words from its stack pointer to
  // its end. `caller`: one step further out.
  void keep_frame(unw_cursor_t& own, unw_cursor_t& caller, NativeFrame& frame);
  // Returns the signal for which the kernel made the frame; 0 if that is uncertain.
  // `stack_pointer`: in the trampoline. `blocked`: the signals that are blocked in its handler;
  // afterwards, those blocked before it.
  int delivered_signal(std::uint64_t stack_pointer, std::optional<std::uint64_t>& blocked);

  NativeStack walk(unw_cursor_t& cursor,
                   std::uint64_t stack_pointer,
                   std::size_t limit,
                   Signals signals);
  // Moves `cursor`, which is at `before`, to the caller.
  Step step(unw_cursor_t& before, unw_cursor_t& cursor, const Place& place, const Signals& signals);
  // Takes one step; if that needs the unknown frame pointer, searches for it above `stack_pointer`.
  // Sets `heuristic` if it was found.
  int step_or_search(unw_cursor_t& cursor, std::uint64_t stack_pointer, bool& heuristic);
  // Returns whether `frame` may end where the candidate says; if so, `cursor` is at its caller.
  bool believable(const FrameCandidate& candidate, const unw_cursor_t& frame, unw_cursor_t& cursor);
  // Returns whether the step from `before` to `cursor`, with that result, led out of the kernel's
  // signal trampoline; takes the step itself if the trampoline has no table and libunwind failed.
  bool leave_signal(unw_cursor_t& before, unw_cursor_t& cursor, int& stepped);

  // The following are in bare_callers.cc.

  // Finds the caller of `frame`, which has no table and whose code is at `pc`. Moves `cursor`
  // there; so far it is where libunwind's step, with that result, led by the frame pointer.
  std::optional<Caller> search_caller(unw_cursor_t& frame,
                                      unw_cursor_t& cursor,
                                      std::uint64_t pc,
                                      std::uint64_t stack_pointer,
                                      int stepped,
                                      const Signals& signals);
  // Returns the caller that libunwind found by the frame pointer, and places `cursor` there.
  Caller caller_by_pointer(unw_cursor_t& frame, unw_cursor_t& cursor, std::uint64_t stack_pointer);
  // Places `cursor` at the candidate's caller; false if that is impossible. `pointer`: trust the
  // candidate's frame pointer.
  bool begin_at(const FrameCandidate& candidate, bool pointer, unw_cursor_t& cursor);
  // Unwinds from `cursor` on; returns the frames if they reach the end of the stack.
  std::optional<NativeStack> complete_from(const unw_cursor_t& cursor,
                                           std::uint64_t stack_pointer,
                                           const Signals& signals);
  // Returns whether the kernel's frame for a signal is where the candidate says.
  bool is_handlers_end(const FrameCandidate& candidate);
  // Returns whether the candidate's caller, at `cursor`, has no table either, but a call further
  // out leads to exactly its function.
  bool is_linked(const FrameCandidate& candidate, unw_cursor_t cursor);
  // Returns whether nothing called the function that `return_address` belongs to.
  bool is_outermost(std::uint64_t return_address);

  const attach::Target& target_;
  UnwindSpace space_;
  CodeRanges code_;
  std::vector<elf::ElfRange> kept_;

  // State of the current thread.
  pid_t tid_ = 0;
  std::deque<attach::Registers> guessed_;  // of guessed frames; cursors keep reading them
  std::size_t trials_left_ = 0;
  std::size_t searches_left_ = 0;
  std::size_t trials_deep_ = 0;
};

}  // namespace oddrank::unwind
