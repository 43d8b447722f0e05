// CPython 3.12: shim frames (owner 3) mark where a loop was entered; the GIL belongs to an
// interpreter; strings lost their wchar_t cache.
//
// Offsets printed by scripts/cpython_offsets.c with the headers of 3.12.1; do not edit by hand.
#include "cpython/layouts/layout.h"

namespace oddrank::cpython {
namespace {

constexpr Layout kPython312 = {
    .runtime =
        {
            .interpreters_head = 40,
            .finalizing = 24,
        },
    .interpreter =
        {
            .next = 0,
            .id = 8,
            .threads_head = 72,
            .modules = 944,
            .gil = 384,
            .collecting = 312,
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
            .frame = 0,
            .thread_id = 136,
            .native_thread_id = 144,
        },
    .frame =
        {
            .previous = 8,
            .code = 0,
            .instruction = 56,
            .owner = 70,
            .stack_top = 64,
            .globals = 24,
            .localsplus = 72,
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
            .instructions = 192,
            .size = 200,
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
            .type_cached_keys = 880,
            .str_length = 16,
            .str_state = 32,
            .str_kind_shift = 2,
            .str_ascii_data = 40,
            .str_compact_data = 56,
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
            .first_value = 0,
        },
    .semantics =
        {
            .entry = EntryRule::kBeforeShim,
            .lines = LineFormat::kLocations,
            .instruction = InstructionFormat::kPointer,
            .ints = IntFormat::kTag,
            .attributes = AttributeFormat::kTaggedDict,
            .split_order = SplitOrder::kBefore,
            .stack_top = StackTopFormat::kIndex,
            .states = {-1, -1, 0},
            .shim_owner = 3,
            .counts_collections = true,
            .opcodes = 12,
        },
};

}  // namespace

const Layout& layout_3_12() {
  return kPython312;
}

}  // namespace oddrank::cpython
