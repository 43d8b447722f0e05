// CPython 3.15: supplies the offsets that `_Py_DebugOffsets` lacks; the process publishes the
// others (debug_offsets.h). Below all frames of a thread lies a base frame that looks like a shim.
//
// Offsets printed by scripts/cpython_offsets.c with the headers of 3.15.0; do not edit by hand.
#include "cpython/layouts/layout.h"

namespace oddrank::cpython {
namespace {

constexpr Layout kPython315 = {
    .runtime =
        {
            .interpreters_head = 936,
            .finalizing = 912,
        },
    .interpreter =
        {
            .next = 7264,
            .id = 7272,
            .threads_head = 7336,
            .modules = 7592,
            .gil = 16,
        },
    .collector = {.generations = 8},
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
            .frame = 72,
            .thread_id = 176,
            .native_thread_id = 184,
            .base_frame = 80,
        },
    .frame =
        {
            .previous = 8,
            .code = 0,
            .instruction = 56,
            .owner = 74,
            .stack_top = 64,
            .globals = 24,
            .localsplus = 80,
            .object = 48,
            .line = 40,
        },
    .code =
        {
            .filename = 112,
            .name = 120,
            .qualname = 128,
            .line_table = 136,
            .first_line = 68,
            .constants = 24,
            .names = 32,
            .exceptions = 40,
            .local_names = 96,
            .local_kinds = 104,
            .instructions = 208,
            .size = 216,
        },
    .object =
        {
            .type = 8,
            .size = 16,
            .type_name = 24,
            .type_flags = 168,
            .type_basic_size = 32,
            .type_dict_offset = 288,
            .function_code = 48,
            .type_cached_keys = 888,
            .str_length = 16,
            .str_state = 32,
            .str_kind_shift = 2,
            .str_ascii_data = 40,
            .str_compact_data = 56,
            .bytes_data = 32,
            .tuple_items = 32,
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
            .frame = 72,
            .state = 67,
        },
    .keys =
        {
            .size = 8,
            .index_bytes = 9,
            .kind = 10,
            .count = 24,
            .indices = 32,
            .first_value = 8,
        },
    .semantics =
        {
            .entry = EntryRule::kBeforeShim,
            .lines = LineFormat::kLocations,
            .instruction = InstructionFormat::kPointer,
            .ints = IntFormat::kTag,
            .attributes = AttributeFormat::kInlineValues,
            .split_order = SplitOrder::kBehind,
            .states = {1, 3, 4},
            .awaited_value = 2,
            .shim_owner = 3,
            .reference_tags = 3,
            .opcodes = 15,
        },
};

constexpr Layout kPython315t = {
    .runtime =
        {
            .interpreters_head = 936,
            .finalizing = 912,
        },
    .interpreter =
        {
            .next = 7264,
            .id = 7272,
            .threads_head = 7336,
            .modules = 7592,
            .gil = 16,
        },
    .gil =
        {
            .last_holder = 16,
            .locked = 24,
            .enabled = 0,
            .size = 216,
        },
    .thread =
        {
            .next = 8,
            .interp = 16,
            .frame = 72,
            .thread_id = 176,
            .native_thread_id = 184,
            .base_frame = 80,
        },
    .frame =
        {
            .previous = 8,
            .code = 0,
            .instruction = 56,
            .owner = 78,
            .tlbc_index = 72,
            .stack_top = 64,
            .globals = 24,
            .localsplus = 80,
            .object = 48,
            .line = 56,
        },
    .code =
        {
            .filename = 128,
            .name = 136,
            .qualname = 144,
            .line_table = 152,
            .first_line = 84,
            .constants = 40,
            .names = 48,
            .exceptions = 56,
            .local_names = 112,
            .local_kinds = 120,
            .instructions = 232,
            .thread_code = 224,
            .size = 240,
        },
    .object =
        {
            .type = 24,
            .size = 32,
            .type_name = 40,
            .type_flags = 184,
            .type_basic_size = 48,
            .type_dict_offset = 304,
            .function_code = 64,
            .type_cached_keys = 904,
            .str_length = 32,
            .str_state = 48,
            .str_kind_shift = 8,
            .str_ascii_data = 56,
            .str_compact_data = 72,
            .bytes_data = 48,
            .tuple_items = 48,
            .list_items = 40,
            .int_tag = 32,
            .int_digits = 40,
            .float_value = 32,
            .dict_used = 32,
            .dict_keys = 48,
            .dict_values = 56,
            .module_dict = 32,
            .cell_value = 32,
            .set_mask = 48,
            .set_table = 56,
            .weakref_target = 32,
            .head = 32,
        },
    .generator =
        {
            .frame = 88,
            .state = 83,
        },
    .keys =
        {
            .size = 8,
            .index_bytes = 9,
            .kind = 10,
            .count = 24,
            .indices = 32,
            .first_value = 8,
        },
    .semantics =
        {
            .entry = EntryRule::kBeforeShim,
            .lines = LineFormat::kLocations,
            .instruction = InstructionFormat::kPointer,
            .ints = IntFormat::kTag,
            .attributes = AttributeFormat::kInlineValues,
            .split_order = SplitOrder::kBehind,
            .states = {1, 3, 4},
            .awaited_value = 2,
            .shim_owner = 3,
            .reference_tags = 3,
            .free_threaded = true,
            .opcodes = 15,
        },
};

}  // namespace

const Layout& layout_3_15(bool free_threaded) {
  return free_threaded ? kPython315t : kPython315;
}

}  // namespace oddrank::cpython
