// CPython 3.9: as 3.8, with fields of the runtime and the interpreter moved.
//
// Offsets printed by scripts/cpython_offsets.c with the headers of 3.9.18; do not edit by hand.
#include "cpython/layouts/layout.h"

namespace oddrank::cpython {
namespace {

constexpr Layout kPython39 = {
    .runtime =
        {
            .interpreters_head = 32,
            .finalizing = 16,
            .main_thread = 72,
            .tstate_current = 568,
            .gil = 352,
        },
    .interpreter =
        {
            .next = 0,
            .id = 24,
            .threads_head = 8,
            .modules = 856,
            .collecting = 816,
        },
    .collector = {.lists = 176},
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
            .filename = 104,
            .name = 112,
            .line_table = 120,
            .first_line = 40,
            .constants = 56,
            .names = 64,
            .bytecode = 48,
            .local_names = 72,
            .cell_names = 88,
            .free_names = 80,
            .size = 176,
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
            .type_cached_keys = 864,
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
            .counts_collections = true,
            .opcodes = 9,
        },
};

}  // namespace

const Layout& layout_3_9() {
  return kPython39;
}

}  // namespace oddrank::cpython
