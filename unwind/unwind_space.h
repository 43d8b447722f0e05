// The "address space" through which libunwind reads a process: callbacks for memory, registers and
// unwind tables, served from a copy of a thread's stack and from files. libunwind's remote half
// never touches a process itself.
//
// For a blocked thread that was not stopped, only the program counter, the stack pointer and the
// arguments of its system call are known. A callback refuses any other register, and notes that it
// was needed. Private to unwind/.
#pragma once

#include <libunwind.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "attach/target.h"
#include "elf/module_map.h"
#include "unwind/known_walk.h"
#include "unwind/unwind_memory.h"
#include "unwind/unwind_table.h"

namespace oddrank::unwind {

// Events during one step.
struct StepNotes {
  bool no_table = false;    // libunwind followed the frame pointer instead, or nothing
  bool bad_memory = false;  // it read missing memory, or too much
  bool needs_frame_pointer = false;
  bool needs_registers = false;
};

// Returns a register of the cursor's frame; 0 if it is unknown.
std::uint64_t register_of(unw_cursor_t& cursor, int number);

class UnwindSpace {
 public:
  // Both must outlive it. It serves all threads of a target: libunwind's caches are shared.
  UnwindSpace(const attach::Target& target, elf::ModuleMap& modules);
  ~UnwindSpace();
  UnwindSpace(const UnwindSpace&) = delete;
  UnwindSpace& operator=(const UnwindSpace&) = delete;
  UnwindSpace(UnwindSpace&&) = delete;
  UnwindSpace& operator=(UnwindSpace&&) = delete;

  UnwindMemory& memory() { return memory_; }

  // The registers that cursors begin with and read later; they must outlive each cursor.
  // `frame_pointer`: found by a search, if the registers lack it.
  const attach::Registers* registers = nullptr;
  std::optional<std::uint64_t> frame_pointer;
  std::optional<attach::SyscallState> syscall;

  // Places `cursor` at the registers; false if that is impossible.
  bool begin(unw_cursor_t& cursor);
  // Steps like unw_step, with fresh `notes` and bounded memory.
  int step(unw_cursor_t& cursor);
  StepNotes notes;

  // Log the words of the stack that steps read; nullopt if they read a register, too: then the
  // stack alone does not determine the frames.
  void begin_log() { log_.emplace(); }
  std::optional<std::vector<KnownWalk::Word>> take_log() {
    return std::exchange(log_, std::nullopt);
  }

 private:
  friend struct UnwindCallbacks;

  const std::optional<UnwindTable>& table_of(const elf::Module& module);
  int find_info(unw_word_t ip, unw_proc_info_t* info, int need_unwind_info);
  int access_register(int number, unw_word_t* value);
  int access_argument(std::size_t index, unw_word_t* value);
  int access_memory(unw_word_t address, unw_word_t* value);

  std::uint64_t without_signature(std::uint64_t address, std::uint64_t word);
  std::uint64_t marks_at(std::uint64_t address) const;
  void hide_marks(std::uint64_t start, std::uint64_t end);

  const attach::Target& target_;
  elf::ModuleMap& modules_;
  UnwindMemory memory_;
  unw_addr_space_t space_ = nullptr;
  std::unordered_map<const elf::Module*, std::optional<UnwindTable>> tables_;
  std::unordered_map<std::uint64_t, std::uint64_t> marks_;  // word -> its hidden bytes
  std::size_t words_left_ = 0;                              // of the current step
  std::optional<std::vector<KnownWalk::Word>> log_;
};

}  // namespace oddrank::unwind
