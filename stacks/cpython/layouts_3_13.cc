// CPython 3.13: offsets that `_Py_DebugOffsets` does not tell are taken from here, the others are
// replaced by what the process says (debug_offsets.h).
//
// Offsets printed by scripts/cpython_offsets.c with the headers of 3.13.0; do not edit by hand.
#include "stacks/cpython/layout.h"

namespace oddrank::stacks::cpython {
namespace {

constexpr Layout kTable = {
    .runtime =
        {
            .interpreters_head = 632,
            .finalizing = 608,
            .size = 283320,
        },
    .interpreter =
        {
            .next = 7264,
            .threads_head = 7344,
            .modules = 7656,
            .gil = 16,
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
            .frame = 72,
            .thread_id = 152,
            .native_thread_id = 160,
        },
    .frame =
        {
            .previous = 8,
            .code = 0,
            .instruction = 56,
            .owner = 70,
            .localsplus = 72,
        },
    .code =
        {
            .filename = 112,
            .name = 120,
            .qualname = 128,
            .line_table = 136,
            .first_line = 68,
            .local_names = 96,
            .local_kinds = 104,
            .instructions = 200,
            .size = 208,
        },
    .object =
        {
            .type = 8,
            .size = 16,
            .type_name = 24,
            .type_flags = 168,
            .str_length = 16,
            .str_state = 32,
            .str_ascii_data = 40,
            .str_compact_data = 56,
            .bytes_data = 32,
            .tuple_items = 24,
            .list_items = 24,
            .int_tag = 16,
            .int_digits = 24,
            .float_value = 16,
            .dict_used = 16,
            .cell_value = 16,
        },
    .semantics =
        {
            .entry = EntryRule::kBeforeShim,
            .lines = LineFormat::kLocations,
            .instruction = InstructionFormat::kPointer,
            .ints = IntFormat::kTag,
            .shim_owner = 3,
        },
};

}  // namespace

const Layout& layout_3_13() {
  return kTable;
}

}  // namespace oddrank::stacks::cpython
