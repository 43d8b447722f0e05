#include "unwind/unwind_space.h"

#include <array>
#include <cstring>
#include <vector>

#include "unwind/frame_marks.h"
#include "unwind/machine/registers.h"

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

std::uint64_t register_of(unw_cursor_t& cursor, int number) {
  unw_word_t value = 0;
  return unw_get_reg(&cursor, number, &value) == 0 ? value : 0;
}

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
    : target_(target), modules_(modules), memory_(target, modules) {
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
  const int stepped = unw_step(&cursor);
  const bool failed =
      notes.needs_frame_pointer || notes.bad_memory || (notes.no_table && stepped == 0);
  return has_false_steps() && stepped >= 0 && failed ? -UNW_ENOINFO : stepped;
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
  *value = without_signature(address, *word) & ~marks_at(address);
  if (log_ && address >= registers->sp && address < memory_.stack_end()) {
    log_->push_back({address, *word});
  }
  return 0;
}

// Only return addresses are signed, and they lie on stacks, which no module has.
std::uint64_t UnwindSpace::without_signature(std::uint64_t address, std::uint64_t word) {
  const std::uint64_t plain = registers == nullptr ? word : word & ~signature_of(*registers);
  if (plain == word || modules_.find(address) != nullptr) {
    return word;
  }
  const attach::Mapping* code = target_.maps().find(attach::Addr{plain});
  return code != nullptr && code->executable ? plain : word;
}

std::uint64_t UnwindSpace::marks_at(std::uint64_t address) const {
  const auto found = marks_.find(address);
  return found == marks_.end() ? 0 : found->second;
}

// libunwind reads aligned words; 1.6 does not know the instruction of a table that says "from here
// on the return address is signed", and refuses the frame. The instruction changes nothing else,
// and is hidden from libunwind.
void UnwindSpace::hide_marks(std::uint64_t start, std::uint64_t end) {
  constexpr std::uint64_t kMaxProgram = std::uint64_t{1} << 16;
  if (end <= start || end - start > kMaxProgram) {
    return;
  }
  std::vector<std::byte> program(end - start);
  if (!memory_.read(start, program)) {
    return;
  }
  for (const std::size_t at : signature_marks(program)) {
    const std::uint64_t address = start + at;
    marks_[address & ~(kWord - 1)] |= std::uint64_t{0xff} << (address % kWord * 8);
  }
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
  if (found >= 0 && info->unwind_info != nullptr && signature_of(*registers) != 0) {
    // The first four members of libunwind's struct dwarf_cie_info, the same in 1.1 to 1.8: the
    // instructions that all functions share, and this function's.
    std::array<unw_word_t, 4> programs{};
    std::memcpy(programs.data(), info->unwind_info, sizeof programs);
    hide_marks(programs[0], programs[1]);
    hide_marks(programs[2], programs[3]);
  }
  return found;
}

int UnwindSpace::access_register(int number, unw_word_t* value) {
  const RegisterName name = name_of_register(number);
  switch (name.role) {
    case RegisterRole::kPc:
      *value = registers->pc;
      return 0;
    case RegisterRole::kSp:
      *value = registers->sp;
      return 0;
    case RegisterRole::kFramePointer:
      log_.reset();
      if (!registers->all && !frame_pointer) {
        notes.needs_frame_pointer = true;
        notes.needs_registers = true;
        return -UNW_EBADREG;
      }
      *value = registers->all ? registers->frame_pointer : *frame_pointer;
      return 0;
    case RegisterRole::kLink:
      *value = registers->link & ~signature_of(*registers);
      break;
    case RegisterRole::kKept:
      *value = registers->kept[name.index];
      break;
    case RegisterRole::kArgument:
      return access_argument(name.index, value);
    case RegisterRole::kOther:
      return -UNW_EBADREG;
  }
  log_.reset();
  notes.needs_registers = notes.needs_registers || !registers->all;
  return registers->all ? 0 : -UNW_EBADREG;
}

// The arguments of the system call are still in their registers. On x86-64 vfork() keeps its return
// address in one, since the child overwrites the stack.
int UnwindSpace::access_argument(std::size_t index, unw_word_t* value) {
  log_.reset();
  if (!syscall || syscall->number < 0) {
    return -UNW_EBADREG;
  }
  *value = syscall->arguments[index];
  return 0;
}

}  // namespace oddrank::unwind
