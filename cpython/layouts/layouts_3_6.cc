// CPython 3.6. It has no _PyRuntime: its fields are variables of their own, which `detect_runtime`
// finds by their names. Interpreters have no numbers.
//
// Offsets printed by scripts/cpython_offsets.c with the headers of 3.6.15; do not edit by hand.
#include "cpython/layouts/layout.h"

namespace oddrank::cpython {
namespace {

constexpr Layout kPython36 = {
    .runtime = {},
    .interpreter =
        {
            .next = 0,
            .threads_head = 8,
            .modules = 16,
        },
    .gil = {},
    .thread =
        {
            .next = 8,
            .interp = 16,
            .frame = 24,
            .thread_id = 152,
        },
    .frame =
        {
            .previous = 24,
            .code = 32,
            .instruction = 120,
            .stack_top = 72,
            .stack_base = 64,
            .executing = 132,
            .globals = 48,
            .localsplus = 376,
            .line = 124,
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

}  // namespace

const Layout& layout_3_6() {
  return kPython36;
}

}  // namespace oddrank::cpython
