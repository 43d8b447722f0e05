#include "unwind/unwind_space.h"

#include <algorithm>
#include <array>

// libunwind exports it for programs with their own tables, but no header declares it.
extern "C" int UNW_OBJ(dwarf_search_unwind_table)(unw_addr_space_t space,
                                                  unw_word_t ip,
                                                  unw_dyn_info_t* table,
                                                  unw_proc_info_t* info,
                                                  int need_unwind_info,
                                                  void* argument);

namespace oddrank::unwind {
namespace {

// Words that one step may read. A damaged table can describe a loop that never ends; the largest
// real step (a binary search and a long program) takes a few hundred.
constexpr std::size_t kMaxWordsPerStep = 20000;

}  // namespace

// `argument` is the space.
struct UnwindCallbacks {
  static UnwindSpace& self(void* argument) { return *static_cast<UnwindSpace*>(argument); }

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
    return write != 0 ? -UNW_EINVAL : self(argument).access_memory(address, value);
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

UnwindSpace::UnwindSpace(const attach::Target& target, elf::ModuleMap& modules)
    : modules_(modules), memory_(target, modules) {
  using Callbacks = UnwindCallbacks;
  unw_accessors_t accessors{};
  accessors.find_proc_info = Callbacks::find_proc_info;
  accessors.put_unwind_info = Callbacks::put_unwind_info;
  accessors.get_dyn_info_list_addr = Callbacks::get_dyn_info_list_addr;
  accessors.access_mem = Callbacks::access_mem;
  accessors.access_reg = Callbacks::access_reg;
  accessors.access_fpreg = Callbacks::access_fpreg;
  accessors.resume = Callbacks::resume;
  accessors.get_proc_name = Callbacks::get_proc_name;
  space_ = unw_create_addr_space(&accessors, 0);
  if (space_ != nullptr) {
    // "Global": shared by all threads of the target. Without it each frame takes ten times longer.
    unw_set_caching_policy(space_, UNW_CACHE_GLOBAL);
  }
}

UnwindSpace::~UnwindSpace() {
  if (space_ != nullptr) {
    unw_destroy_addr_space(space_);
  }
}

bool UnwindSpace::begin(unw_cursor_t& cursor) {
  words_left_ = kMaxWordsPerStep;
  return space_ != nullptr && unw_init_remote(&cursor, space_, this) == 0;
}

int UnwindSpace::step(unw_cursor_t& cursor) {
  words_left_ = kMaxWordsPerStep;
  notes = {};
  return unw_step(&cursor);
}

int UnwindSpace::access_memory(unw_word_t address, unw_word_t* value) {
  if (words_left_ == 0) {
    return -UNW_EINVAL;
  }
  --words_left_;
  const auto word = memory_.word(address);
  if (!word) {
    notes.bad_memory = true;
    return -UNW_EINVAL;
  }
  *value = *word;
  if (log_ && address >= registers->sp && address < memory_.stack_end()) {
    log_->push_back({address, *word});
  }
  return 0;
}

const std::optional<UnwindTable>& UnwindSpace::table_of(const elf::Module& module) {
  const auto known = tables_.find(&module);
  if (known != tables_.end()) {
    return known->second;
  }
  return tables_.emplace(&module, find_unwind_table(module, modules_, memory_)).first->second;
}

int UnwindSpace::find_info(unw_word_t ip, unw_proc_info_t* info, int need_unwind_info) {
  const elf::Module* module = modules_.find(ip);
  const UnwindTable* table = nullptr;
  if (module != nullptr && table_of(*module)) {
    table = &*table_of(*module);
  }
  if (table == nullptr || table->count == 0) {
    notes.no_table = true;
    return -UNW_ENOINFO;
  }
  unw_dyn_info_t where{};
  where.start_ip = module->start;
  where.end_ip = module->end;
  where.format = UNW_INFO_FORMAT_REMOTE_TABLE;
  where.u.rti.segbase = table->header;
  where.u.rti.table_data = table->entries;
  where.u.rti.table_len = table->count;  // in words, as large as an entry
  // It also reads the pointer to the personality routine, which is in no file and which we do not
  // use.
  memory_.set_reading_tables(true);
  const int found =
      UNW_OBJ(dwarf_search_unwind_table)(space_, ip, &where, info, need_unwind_info, this);
  memory_.set_reading_tables(false);
  notes.no_table = notes.no_table || found < 0;
  return found;
}

int UnwindSpace::access_register(int number, unw_word_t* value) {
  switch (number) {
    case UNW_X86_64_RIP:
      *value = registers->pc;
      return 0;
    case UNW_X86_64_RSP:
      *value = registers->sp;
      return 0;
    case UNW_X86_64_RBP:
      log_.reset();
      if (!registers->all && !frame_pointer) {
        notes.needs_frame_pointer = true;
        notes.needs_registers = true;
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
  log_.reset();
  notes.needs_registers = notes.needs_registers || !registers->all;
  return registers->all ? 0 : -UNW_EBADREG;
}

// The arguments of the system call are still in their registers. vfork() keeps its return address
// in one, since the child overwrites the stack.
int UnwindSpace::access_argument(int number, unw_word_t* value) {
  log_.reset();
  static constexpr std::array kArguments = {UNW_X86_64_RDI, UNW_X86_64_RSI, UNW_X86_64_RDX,
                                            UNW_X86_64_R10, UNW_X86_64_R8,  UNW_X86_64_R9};
  const auto* const found = std::find(kArguments.begin(), kArguments.end(), number);
  if (found == kArguments.end() || !syscall || syscall->number < 0) {
    return -UNW_EBADREG;
  }
  *value = syscall->arguments[static_cast<std::size_t>(found - kArguments.begin())];
  return 0;
}

}  // namespace oddrank::unwind
