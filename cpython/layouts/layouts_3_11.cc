// CPython 3.11: frames lie in data-stack chunks and share evaluation loops; is_entry marks the
// first frame of a loop. 3.11.2 has the same offsets.
//
// Offsets printed by scripts/cpython_offsets.c with the headers of 3.11.7; do not edit by hand.
#include "cpython/layouts/layout.h"

namespace oddrank::cpython {
namespace {

constexpr Layout kPython311 = {
    .runtime =
        {
            .interpreters_head = 40,
            .finalizing = 24,
            .tstate_current = 576,
            .gil = 360,
        },
    .interpreter =
        {
            .next = 0,
            .id = 48,
            .threads_head = 16,
            .modules = 888,
            .collecting = 848,
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
            .cframe = 56,
            .frame = 8,
            .thread_id = 152,
            .native_thread_id = 160,
        },
    .frame =
        {
            .previous = 48,
            .code = 32,
            .instruction = 56,
            .is_entry = 68,
            .owner = 69,
            .stack_top = 64,
            .globals = 8,
            .localsplus = 72,
            .object = 40,
            .line = 40,
        },
    .code =
        {
            .filename = 112,
            .name = 120,
            .qualname = 128,
            .line_table = 136,
            .first_line = 72,
            .constants = 24,
            .names = 32,
            .exceptions = 40,
            .local_names = 96,
            .local_kinds = 104,
            .instructions = 184,
            .size = 192,
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
            .type_cached_keys = 872,
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
            .frame = 80,
            .state = 75,
        },
    .keys =
        {
            .size = 8,
            .index_bytes = 9,
            .kind = 10,
            .count = 24,
            .indices = 32,
            .first_value = 0,
        },
    .semantics =
        {
            .entry = EntryRule::kFlag,
            .lines = LineFormat::kLocations,
            .instruction = InstructionFormat::kPointer,
            .attributes = AttributeFormat::kTwoPointers,
            .split_order = SplitOrder::kBefore,
            .stack_top = StackTopFormat::kIndex,
            .states = {-1, -1, 0},
            .counts_collections = true,
            .opcodes = 11,
        },
};

}  // namespace

const Layout& layout_3_11() {
  return kPython311;
}

}  // namespace oddrank::cpython
