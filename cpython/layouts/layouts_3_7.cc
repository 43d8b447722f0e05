// CPython 3.7, as 3.8 in all that is read here but for offsets. Its loops are not decoded: it has
// block instructions that later versions lack.
//
// Offsets printed by scripts/cpython_offsets.c with the headers of 3.7.16; do not edit by hand.
#include "cpython/layouts/layout.h"

namespace oddrank::cpython {
namespace {

constexpr Layout kPython37 = {
    .runtime =
        {
            .interpreters_head = 24,
            .finalizing = 8,
            .main_thread = 720,
            .tstate_current = 1480,
            .gil = 1264,
            .collecting = 632,
        },
    .interpreter =
        {
            .next = 0,
            .id = 16,
            .threads_head = 8,
            .modules = 40,
        },
    .gil =
        {
            .last_holder = 8,
            .locked = 16,
            .size = 208,
        },
    .thread =
        {
            .next = 8,
            .interp = 16,
            .frame = 24,
            .thread_id = 176,
        },
    .frame =
        {
            .previous = 24,
            .code = 32,
            .instruction = 104,
            .stack_top = 72,
            .stack_base = 64,
            .executing = 116,
            .globals = 48,
            .localsplus = 360,
            .line = 108,
        },
    .code =
        {
            .filename = 96,
            .name = 104,
            .line_table = 112,
            .first_line = 36,
            .constants = 48,
            .names = 56,
            .bytecode = 40,
            .local_names = 64,
            .cell_names = 80,
            .free_names = 72,
            .size = 144,
        },
    .object =
        {
            .type = 8,
            .size = 16,
            .type_name = 24,
            .type_flags = 168,
            .type_basic_size = 32,
            .type_dict_offset = 288,
            .function_code = 16,
            .type_cached_keys = 856,
            .str_length = 16,
            .str_state = 32,
            .str_kind_shift = 2,
            .str_ascii_data = 48,
            .str_compact_data = 72,
            .bytes_data = 32,
            .tuple_items = 24,
            .list_items = 24,
            .int_tag = 16,
            .int_digits = 24,
            .float_value = 16,
            .dict_used = 16,
            .dict_keys = 32,
            .dict_values = 40,
            .module_dict = 16,
            .cell_value = 16,
            .set_mask = 32,
            .set_table = 40,
            .weakref_target = 16,
            .head = 16,
        },
    .generator =
        {
            .frame = 16,
        },
    .keys =
        {
            .size = 8,
            .count = 32,
            .indices = 40,
            .first_value = 0,
        },
    .semantics =
        {
            .entry = EntryRule::kEvery,
            .lines = LineFormat::kLnotab,
            .instruction = InstructionFormat::kByteIndex,
            .ints = IntFormat::kSignedSize,
            .shim_owner = kNoOwner,
            .executing = 1,
        },
};

// The runtime's struct grew in front of these fields in 3.7.4. Their earlier places have not been
// checked in any process, so nothing is told about the GIL there.
constexpr Layout without_gil(Layout layout) {
  layout.runtime.main_thread = kAbsent;
  layout.runtime.tstate_current = kAbsent;
  layout.runtime.gil = kAbsent;
  layout.runtime.collecting = kAbsent;
  return layout;
}

constexpr Layout kFirstPython37 = without_gil(kPython37);

}  // namespace

const Layout& layout_3_7(bool first_patches) {
  return first_patches ? kFirstPython37 : kPython37;
}

}  // namespace oddrank::cpython
