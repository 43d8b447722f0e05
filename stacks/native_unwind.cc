// Unwinding by libunwind's remote half. It asks for memory, registers and unwind tables through
// callbacks ("accessors"), so it never touches a process itself; here they are answered from a copy
// of the stack and from files (unwind_memory.h).
//
// Of a blocked thread that was not stopped, only the program counter and the stack pointer are
// known. That is enough as long as each frame's address follows from the stack pointer, or from a
// register that some inner function saved to the stack. Where a frame needs a register that nobody
// saved, the callback refuses it. If that is the frame pointer, it is looked for (frame_search.h);
// else the stack ends there.
//
// Outer frames hold return addresses; libunwind itself looks one byte before them for tables,
// except behind a signal frame.
#include "stacks/native_unwind.h"

#include <libunwind.h>

#include <algorithm>
#include <array>
#include <deque>
#include <optional>
#include <unordered_map>

#include "snapshot/frame.h"
#include "stacks/call_site.h"
#include "stacks/frame_search.h"
#include "stacks/unwind_memory.h"
#include "stacks/unwind_table.h"

// Exported by libunwind for those who bring their own tables, but in none of its headers.
extern "C" int UNW_OBJ(dwarf_search_unwind_table)(unw_addr_space_t space,
                                                  unw_word_t ip,
                                                  unw_dyn_info_t* table,
                                                  unw_proc_info_t* info,
                                                  int need_unwind_info,
                                                  void* argument);

namespace oddrank::stacks {
namespace {

using snapshot::StackEnd;

// Words that one step may read. A damaged table can describe a loop that never ends; the largest
// honest step (a binary search and a long program) takes a few hundred.
constexpr std::size_t kWordsPerStep = 20000;

// How far a stack is followed to see whether a guess was right, and how often in one stack.
constexpr std::size_t kTrialFrames = 512;
constexpr std::size_t kTrials = 64;
// Between a frame and that of its caller.
constexpr std::uint64_t kFarthestFrame = std::uint64_t{1} << 20;

// Whether that step led out of the kernel's signal trampoline. libunwind 1.6 says it of the frame
// that the signal interrupted, not of the trampoline.
bool after_signal_frame(unw_cursor_t& cursor, int stepped) {
  return stepped > 0 && unw_is_signal_frame(&cursor) > 0;
}

std::uint64_t register_of(unw_cursor_t& cursor, int number) {
  unw_word_t value = 0;
  return unw_get_reg(&cursor, number, &value) == 0 ? value : 0;
}

}  // namespace

struct NativeUnwinder::Impl {
  Impl(const attach::Target& the_target, ModuleMap& the_modules);
  ~Impl() {
    if (space != nullptr) {
      unw_destroy_addr_space(space);
    }
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  Impl(Impl&&) = delete;
  Impl& operator=(Impl&&) = delete;

  const attach::Target& target;
  ModuleMap& modules;
  UnwindMemory memory;
  unw_addr_space_t space = nullptr;
  std::unordered_map<const Module*, std::optional<UnwindTable>> tables;

  // Of the thread at hand.
  const attach::Registers* registers = nullptr;
  std::optional<attach::SyscallState> syscall;
  std::optional<std::uint64_t> frame_pointer;  // found by search
  // Registers of frames that were guessed; cursors go on reading them.
  std::deque<attach::Registers> guessed;
  std::size_t trials_left = 0;
  // Of the step at hand.
  std::size_t words_left = 0;
  bool no_table = false;
  bool bad_memory = false;
  bool needs_frame_pointer = false;
  bool needs_registers = false;

  const std::optional<UnwindTable>& table_of(const Module& module);
  int find_info(unw_word_t ip, unw_proc_info_t* info, int need_unwind_info);
  bool is_code(std::uint64_t pc) const;
  int access_register(int number, unw_word_t* value);
  int access_argument(int number, unw_word_t* value) const;
  int step(unw_cursor_t& cursor);
  // The same; where the step needs the unknown frame pointer, it is searched above `stack_pointer`.
  // Sets `heuristic` if it was found.
  int step_or_search(unw_cursor_t& cursor, std::uint64_t stack_pointer, bool& heuristic);
  // For a frame without table: its caller, at which `cursor` is then. `stepped`: what libunwind
  // made of it, by the frame pointer. nullopt: nothing better is found.
  std::optional<std::uint64_t> search_caller(const unw_cursor_t& frame,
                                             unw_cursor_t& cursor,
                                             std::uint64_t stack_pointer,
                                             int stepped);
  // Whether a stack that goes on at the candidate's caller comes to its end.
  bool is_caller(const FrameCandidate& candidate, unw_cursor_t& cursor);
  // Whether `frame` may end where the candidate says. If so, `cursor` is at its caller.
  bool believable(const FrameCandidate& candidate, const unw_cursor_t& frame, unw_cursor_t& cursor);
  NativeStack walk(unw_cursor_t& cursor, std::uint64_t stack_pointer, std::size_t limit);
  // Once `memory` is that of the thread.
  NativeStack unwind(const attach::ThreadState& thread, std::size_t limit);
};

namespace {

// The callbacks. `argument` is the Impl.
template <typename Impl>
struct Accessors {
  static Impl& self(void* argument) { return *static_cast<Impl*>(argument); }

  static int find_proc_info(unw_addr_space_t /*space*/,
                            unw_word_t ip,
                            unw_proc_info_t* info,
                            int need_unwind_info,
                            void* argument) {
    return self(argument).find_info(ip, info, need_unwind_info);
  }
  static void put_unwind_info(unw_addr_space_t /*space*/,
                              unw_proc_info_t* /*info*/,
                              void* /*argument*/) {}
  static int get_dyn_info_list_addr(unw_addr_space_t /*space*/,
                                    unw_word_t* /*address*/,
                                    void* /*argument*/) {
    return -UNW_ENOINFO;
  }
  static int access_mem(unw_addr_space_t /*space*/,
                        unw_word_t address,
                        unw_word_t* value,
                        int write,
                        void* argument) {
    Impl& impl = self(argument);
    if (write != 0 || impl.words_left == 0) {
      return -UNW_EINVAL;
    }
    --impl.words_left;
    const auto word = impl.memory.word(address);
    if (!word) {
      impl.bad_memory = true;
      return -UNW_EINVAL;
    }
    *value = *word;
    return 0;
  }
  static int access_reg(unw_addr_space_t /*space*/,
                        unw_regnum_t number,
                        unw_word_t* value,
                        int write,
                        void* argument) {
    return write != 0 ? -UNW_EREADONLYREG : self(argument).access_register(number, value);
  }
  static int access_fpreg(unw_addr_space_t /*space*/,
                          unw_regnum_t /*number*/,
                          unw_fpreg_t* /*value*/,
                          int /*write*/,
                          void* /*argument*/) {
    return -UNW_EBADREG;
  }
  static int resume(unw_addr_space_t /*space*/, unw_cursor_t* /*cursor*/, void* /*argument*/) {
    return -UNW_EINVAL;
  }
  static int get_proc_name(unw_addr_space_t /*space*/,
                           unw_word_t /*address*/,
                           char* /*buffer*/,
                           size_t /*size*/,
                           unw_word_t* /*offset*/,
                           void* /*argument*/) {
    return -UNW_ENOINFO;
  }
};

}  // namespace

NativeUnwinder::Impl::Impl(const attach::Target& the_target, ModuleMap& the_modules)
    : target(the_target), modules(the_modules), memory(the_target, the_modules) {
  using Callbacks = Accessors<Impl>;
  unw_accessors_t accessors{};
  accessors.find_proc_info = Callbacks::find_proc_info;
  accessors.put_unwind_info = Callbacks::put_unwind_info;
  accessors.get_dyn_info_list_addr = Callbacks::get_dyn_info_list_addr;
  accessors.access_mem = Callbacks::access_mem;
  accessors.access_reg = Callbacks::access_reg;
  accessors.access_fpreg = Callbacks::access_fpreg;
  accessors.resume = Callbacks::resume;
  accessors.get_proc_name = Callbacks::get_proc_name;
  space = unw_create_addr_space(&accessors, 0);
  if (space != nullptr) {
    // "Global": shared by all threads of the target. Without it each frame costs ten times more.
    unw_set_caching_policy(space, UNW_CACHE_GLOBAL);
  }
}

const std::optional<UnwindTable>& NativeUnwinder::Impl::table_of(const Module& module) {
  const auto known = tables.find(&module);
  if (known != tables.end()) {
    return known->second;
  }
  return tables.emplace(&module, find_unwind_table(module, modules, memory)).first->second;
}

int NativeUnwinder::Impl::find_info(unw_word_t ip, unw_proc_info_t* info, int need_unwind_info) {
  const Module* module = modules.find(ip);
  const UnwindTable* table = nullptr;
  if (module != nullptr && table_of(*module)) {
    table = &*table_of(*module);
  }
  if (table == nullptr || table->count == 0) {
    no_table = true;
    return -UNW_ENOINFO;
  }
  unw_dyn_info_t where{};
  where.start_ip = module->start;
  where.end_ip = module->end;
  where.format = UNW_INFO_FORMAT_REMOTE_TABLE;
  where.u.rti.segbase = table->header;
  where.u.rti.table_data = table->entries;
  where.u.rti.table_len = table->count;  // in words, as large as an entry
  const int found =
      UNW_OBJ(dwarf_search_unwind_table)(space, ip, &where, info, need_unwind_info, this);
  no_table = no_table || found < 0;
  return found;
}

bool NativeUnwinder::Impl::is_code(std::uint64_t pc) const {
  const attach::Mapping* mapping = target.maps().find(attach::Addr{pc});
  return mapping != nullptr && mapping->executable;
}

int NativeUnwinder::Impl::access_register(int number, unw_word_t* value) {
  switch (number) {
    case UNW_X86_64_RIP:
      *value = registers->pc;
      return 0;
    case UNW_X86_64_RSP:
      *value = registers->sp;
      return 0;
    case UNW_X86_64_RBP:
      if (!registers->all && !frame_pointer) {
        needs_frame_pointer = true;
        needs_registers = true;
        return -UNW_EBADREG;
      }
      *value = registers->all ? registers->rbp : *frame_pointer;
      return 0;
    case UNW_X86_64_RBX:
      *value = registers->rbx;
      break;
    case UNW_X86_64_R12:
      *value = registers->r12;
      break;
    case UNW_X86_64_R13:
      *value = registers->r13;
      break;
    case UNW_X86_64_R14:
      *value = registers->r14;
      break;
    case UNW_X86_64_R15:
      *value = registers->r15;
      break;
    default:
      return access_argument(number, value);
  }
  needs_registers = needs_registers || !registers->all;
  return registers->all ? 0 : -UNW_EBADREG;
}

// The arguments of the system call are still in their registers. vfork() keeps its return address
// in one, since the child overwrites the stack.
int NativeUnwinder::Impl::access_argument(int number, unw_word_t* value) const {
  static constexpr std::array kArguments = {UNW_X86_64_RDI, UNW_X86_64_RSI, UNW_X86_64_RDX,
                                            UNW_X86_64_R10, UNW_X86_64_R8,  UNW_X86_64_R9};
  const auto* const found = std::find(kArguments.begin(), kArguments.end(), number);
  if (found == kArguments.end() || !syscall || syscall->number < 0) {
    return -UNW_EBADREG;
  }
  *value = syscall->arguments[static_cast<std::size_t>(found - kArguments.begin())];
  return 0;
}

int NativeUnwinder::Impl::step(unw_cursor_t& cursor) {
  words_left = kWordsPerStep;
  no_table = false;
  bad_memory = false;
  needs_frame_pointer = false;
  needs_registers = false;
  return unw_step(&cursor);
}

int NativeUnwinder::Impl::step_or_search(unw_cursor_t& cursor,
                                         std::uint64_t stack_pointer,
                                         bool& heuristic) {
  unw_cursor_t before = cursor;
  const int stepped = step(cursor);
  if (stepped >= 0 || !needs_frame_pointer || no_table) {
    return stepped;
  }
  unw_proc_info_t function{};
  if (unw_get_proc_info(&before, &function) != 0) {
    return stepped;
  }
  for (const FrameCandidate& candidate :
       find_frames(target.maps(), memory, stack_pointer, function.start_ip)) {
    if (believable(candidate, before, cursor)) {
      heuristic = true;
      return 1;
    }
    frame_pointer.reset();
  }
  cursor = before;
  return step(cursor);  // fails as before, and says why
}

bool NativeUnwinder::Impl::believable(const FrameCandidate& candidate,
                                      const unw_cursor_t& frame,
                                      unw_cursor_t& cursor) {
  // Most functions keep rbp 16 bytes below the frame's end, some (libffi's) elsewhere. The first
  // step tells the distance, as the function's own table has it.
  frame_pointer = candidate.frame_end - 2 * sizeof(std::uint64_t);
  cursor = frame;
  if (step(cursor) <= 0) {
    return false;
  }
  if (const std::uint64_t end = register_of(cursor, UNW_REG_SP); end != candidate.frame_end) {
    *frame_pointer -= end - candidate.frame_end;
    cursor = frame;
    if (step(cursor) <= 0) {
      return false;
    }
  }
  if (register_of(cursor, UNW_REG_SP) != candidate.frame_end ||
      register_of(cursor, UNW_REG_IP) != candidate.return_address) {
    return false;
  }
  if (candidate.proven) {
    return true;
  }
  unw_cursor_t trial = cursor;
  return walk(trial, candidate.frame_end - 1, kTrialFrames).end == StackEnd::kComplete;
}

// A cursor can begin anywhere, but not in the middle of a stack with the registers of that place;
// so it gets the caller's own: what is certain of them.
bool NativeUnwinder::Impl::is_caller(const FrameCandidate& candidate, unw_cursor_t& cursor) {
  attach::Registers there;
  there.pc = candidate.return_address - 1;  // inside of the call, as tables are searched
  there.sp = candidate.frame_end;
  const auto* const registers_before = registers;
  const auto pointer_before = frame_pointer;
  // Most code that has no table keeps a frame pointer; its caller's lies below the return address.
  const auto saved = memory.word(candidate.frame_end - 2 * sizeof(std::uint64_t));
  guessed.push_back(there);
  registers = &guessed.back();
  const auto* const registers_there = registers;
  frame_pointer.reset();
  if (saved && *saved > candidate.frame_end && *saved - candidate.frame_end < kFarthestFrame) {
    frame_pointer = *saved;
  }
  const auto pointer_there = frame_pointer;
  if (unw_init_remote(&cursor, space, this) == 0) {
    unw_cursor_t trial = cursor;
    const StackEnd end = walk(trial, candidate.frame_end - 1, kTrialFrames).end;
    registers = registers_there;
    frame_pointer = pointer_there;
    if (end == StackEnd::kComplete) {
      return true;
    }
  }
  registers = registers_before;
  frame_pointer = pointer_before;
  return false;
}

// A call to just this code speaks for itself; then the frame pointer; then any caller with which
// the stack comes to its end. Heuristic: code that keeps no frame pointer and is called through a
// pointer may have a stale return address in front of the true one.
std::optional<std::uint64_t> NativeUnwinder::Impl::search_caller(const unw_cursor_t& frame,
                                                                 unw_cursor_t& cursor,
                                                                 std::uint64_t stack_pointer,
                                                                 int stepped) {
  unw_cursor_t before = frame;
  const std::uint64_t pc = register_of(before, UNW_REG_IP);
  const bool by_pointer =
      stepped > 0 && is_code(register_of(cursor, UNW_REG_IP)) &&
      register_of(cursor, UNW_REG_SP) > stack_pointer &&
      call_before(register_of(cursor, UNW_REG_IP), memory).kind != CallKind::kNone;
  const bool registers_missing = needs_registers;
  for (const FrameCandidate& candidate : find_callers(target.maps(), memory, stack_pointer, pc)) {
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
  no_table = true;  // the trials have left their own
  needs_registers = registers_missing;
  return std::nullopt;
}

NativeStack NativeUnwinder::Impl::walk(unw_cursor_t& cursor,
                                       std::uint64_t stack_pointer,
                                       std::size_t limit) {
  NativeStack stack;
  NativeFrame frame{register_of(cursor, UNW_REG_IP), 0, 0};
  while (true) {
    words_left = kWordsPerStep;
    if (stack.frames.size() >= limit) {
      stack.end = StackEnd::kLimit;
      return stack;
    }
    stack.frames.push_back(frame);

    bool heuristic = false;
    const unw_cursor_t before = cursor;
    int stepped = step_or_search(cursor, stack_pointer, heuristic);
    std::optional<std::uint64_t> caller;
    if (no_table && !after_signal_frame(cursor, stepped)) {
      caller = search_caller(before, cursor, stack_pointer, stepped);
      stepped = caller ? 1 : stepped;
    }
    if (stepped < 0) {
      stack.end = bad_memory && !no_table ? StackEnd::kBadMemory : StackEnd::kNoUnwindInfo;
      stack.needs_registers = needs_registers;
      return stack;
    }
    const bool signal_frame = after_signal_frame(cursor, stepped);
    if (signal_frame) {
      stack.frames.back().flags |= snapshot::kSignalFrame;
    }
    const std::uint64_t caller_sp = register_of(cursor, UNW_REG_SP);
    stack.frames.back().cfa = caller_sp;
    if (stepped == 0) {
      stack.end = StackEnd::kComplete;
      return stack;
    }
    frame = {caller.value_or(register_of(cursor, UNW_REG_IP)), 0, 0};
    // Stacks grow down, except where a handler ran on a stack of its own. Without a table libunwind
    // follows the frame pointer, which is believed only where a call stands.
    if (!is_code(frame.pc) || (caller_sp <= stack_pointer && !signal_frame) ||
        (no_table && !caller && call_before(frame.pc, memory).kind == CallKind::kNone)) {
      stack.frames.back().cfa = 0;
      stack.end = StackEnd::kNoUnwindInfo;
      return stack;
    }
    if (no_table || heuristic || caller) {
      frame.flags |= snapshot::kHeuristic;
    }
    stack_pointer = caller_sp;
  }
}

NativeUnwinder::NativeUnwinder(const attach::Target& target, ModuleMap& modules)
    : impl_(std::make_unique<Impl>(target, modules)) {}
NativeUnwinder::~NativeUnwinder() = default;

NativeStack NativeUnwinder::Impl::unwind(const attach::ThreadState& thread, std::size_t limit) {
  registers = &*thread.registers;
  syscall = thread.syscall;
  frame_pointer.reset();
  guessed.clear();
  trials_left = kTrials;
  unw_cursor_t cursor{};
  words_left = kWordsPerStep;
  if (space == nullptr || unw_init_remote(&cursor, space, this) != 0) {
    NativeStack stack;
    stack.frames.push_back({registers->pc, 0, 0});
    stack.end = StackEnd::kBadMemory;
    return stack;
  }
  // One less: vfork() takes its return address off the stack, so that it has no frame of its own.
  return walk(cursor, registers->sp - 1, limit);
}

NativeStack NativeUnwinder::unwind(const attach::ThreadState& thread, std::size_t limit) {
  if (!thread.registers) {
    NativeStack stack;
    stack.end = thread.state == 'R' ? StackEnd::kRunning : StackEnd::kUnknown;
    return stack;
  }
  impl_->memory.start_thread(thread.registers->sp);
  return impl_->unwind(thread, limit);
}

NativeStack NativeUnwinder::unwind(const attach::ThreadState& thread,
                                   const StackCopy& copy,
                                   std::size_t limit) {
  if (!thread.registers) {
    return unwind(thread, limit);
  }
  impl_->memory.start_thread(copy);
  return impl_->unwind(thread, limit);
}

}  // namespace oddrank::stacks
