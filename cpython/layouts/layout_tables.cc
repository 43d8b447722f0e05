// The constant tables of all versions: the oldest one whole, each later one by what differs from
// the version before, and a free-threaded build by what differs from the default one. From 3.13 on
// they supply the offsets that `_Py_DebugOffsets` lacks; the process publishes the others
// (debug_offsets.h).
//
// scripts/cpython_offsets.c prints all offsets of a version from its headers, and
// scripts/check_cpython_layouts compares them with these tables.
#include "cpython/layouts/layout.h"

namespace oddrank::cpython {
namespace {

// CPython 3.6. It has no _PyRuntime: its fields are variables of their own, which `detect_runtime`
// finds by their names. Interpreters have no numbers. Headers of 3.6.15.
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

// CPython 3.7, as 3.8 in all that is read here but for offsets. Its loops are not decoded: it has
// block instructions that later versions lack. Headers of 3.7.16.
constexpr Layout kPython37 = [] {
  Layout layout = kPython36;
  layout.runtime.interpreters_head = 24;
  layout.runtime.finalizing = 8;
  layout.runtime.main_thread = 720;
  layout.runtime.tstate_current = 1480;
  layout.runtime.gil = 1264;
  layout.runtime.collecting = 632;
  layout.interpreter.id = 16;
  layout.interpreter.modules = 40;
  layout.thread.thread_id = 176;
  layout.frame.instruction = 104;
  layout.frame.executing = 116;
  layout.frame.localsplus = 360;
  layout.frame.line = 108;
  return layout;
}();

// The runtime's struct grew in front of these fields in 3.7.4. Their earlier places have not been
// checked in any process, so nothing is told about the GIL there.
constexpr Layout kFirstPython37 = [] {
  Layout layout = kPython37;
  layout.runtime.main_thread = kAbsent;
  layout.runtime.tstate_current = kAbsent;
  layout.runtime.gil = kAbsent;
  layout.runtime.collecting = kAbsent;
  return layout;
}();

// CPython 3.8: frames are heap objects, each has its own native evaluation; the one GIL is in
// _PyRuntime. Headers of 3.8.18.
constexpr Layout kPython38 = [] {
  Layout layout = kPython37;
  layout.runtime.interpreters_head = 32;
  layout.runtime.finalizing = 16;
  layout.runtime.main_thread = 72;
  layout.runtime.tstate_current = 1368;
  layout.runtime.gil = 1152;
  layout.runtime.collecting = 544;
  layout.interpreter.modules = 56;
  layout.collector.lists = 176;
  layout.code.filename = 104;
  layout.code.name = 112;
  layout.code.line_table = 120;
  layout.code.first_line = 40;
  layout.code.constants = 56;
  layout.code.names = 64;
  layout.code.bytecode = 48;
  layout.code.local_names = 72;
  layout.code.cell_names = 88;
  layout.code.free_names = 80;
  layout.code.size = 176;
  layout.object.type_cached_keys = 872;
  layout.semantics.counts_collections = true;
  layout.semantics.opcodes = 8;
  return layout;
}();

// CPython 3.9: as 3.8, with fields of the runtime and the interpreter moved. Headers of 3.9.18.
constexpr Layout kPython39 = [] {
  Layout layout = kPython38;
  layout.runtime.tstate_current = 568;
  layout.runtime.gil = 352;
  layout.runtime.collecting = kAbsent;
  layout.interpreter.id = 24;
  layout.interpreter.modules = 856;
  layout.interpreter.collecting = 816;
  layout.object.type_cached_keys = 864;
  layout.semantics.opcodes = 9;
  return layout;
}();

// CPython 3.10: as 3.9, but f_lasti counts code units and the line table has ranges without lines.
// Headers of 3.10.13.
constexpr Layout kPython310 = [] {
  Layout layout = kPython39;
  layout.frame.instruction = 96;
  layout.frame.stack_top = 80;
  layout.frame.executing = 108;
  layout.frame.localsplus = 352;
  layout.frame.line = 100;
  layout.object.function_code = 48;
  layout.object.type_cached_keys = 872;
  layout.semantics.lines = LineFormat::kRanges;
  layout.semantics.instruction = InstructionFormat::kUnitIndex;
  layout.semantics.stack_top = StackTopFormat::kDepth;
  layout.semantics.opcodes = 10;
  layout.semantics.executing = 0;
  return layout;
}();

// CPython 3.11: frames lie in data-stack chunks and share evaluation loops; is_entry marks the
// first frame of a loop. 3.11.2 has the same offsets. Headers of 3.11.7.
constexpr Layout kPython311 = [] {
  Layout layout = kPython310;
  layout.runtime.interpreters_head = 40;
  layout.runtime.finalizing = 24;
  layout.runtime.tstate_current = 576;
  layout.runtime.gil = 360;
  layout.runtime.main_thread = kAbsent;
  layout.interpreter.id = 48;
  layout.interpreter.threads_head = 16;
  layout.interpreter.modules = 888;
  layout.interpreter.collecting = 848;
  layout.thread.cframe = 56;
  layout.thread.frame = 8;
  layout.thread.thread_id = 152;
  layout.thread.native_thread_id = 160;
  layout.frame.previous = 48;
  layout.frame.instruction = 56;
  layout.frame.is_entry = 68;
  layout.frame.owner = 69;
  layout.frame.stack_top = 64;
  layout.frame.globals = 8;
  layout.frame.localsplus = 72;
  layout.frame.object = 40;
  layout.frame.line = 40;
  layout.frame.stack_base = kAbsent;
  layout.frame.executing = kAbsent;
  layout.code.filename = 112;
  layout.code.name = 120;
  layout.code.qualname = 128;
  layout.code.line_table = 136;
  layout.code.first_line = 72;
  layout.code.constants = 24;
  layout.code.names = 32;
  layout.code.exceptions = 40;
  layout.code.local_names = 96;
  layout.code.local_kinds = 104;
  layout.code.instructions = 184;
  layout.code.size = 192;
  layout.code.bytecode = kAbsent;
  layout.code.cell_names = kAbsent;
  layout.code.free_names = kAbsent;
  layout.generator.frame = 80;
  layout.generator.state = 75;
  layout.keys.index_bytes = 9;
  layout.keys.kind = 10;
  layout.keys.count = 24;
  layout.keys.indices = 32;
  layout.semantics.entry = EntryRule::kFlag;
  layout.semantics.lines = LineFormat::kLocations;
  layout.semantics.instruction = InstructionFormat::kPointer;
  layout.semantics.attributes = AttributeFormat::kTwoPointers;
  layout.semantics.split_order = SplitOrder::kBefore;
  layout.semantics.stack_top = StackTopFormat::kIndex;
  layout.semantics.states = {-1, -1, 0};
  layout.semantics.opcodes = 11;
  return layout;
}();

// CPython 3.12: shim frames (owner 3) mark where a loop was entered; the GIL belongs to an
// interpreter; strings lost their wchar_t cache. Headers of 3.12.1.
constexpr Layout kPython312 = [] {
  Layout layout = kPython311;
  layout.runtime.tstate_current = kAbsent;
  layout.runtime.gil = kAbsent;
  layout.interpreter.id = 8;
  layout.interpreter.threads_head = 72;
  layout.interpreter.modules = 944;
  layout.interpreter.gil = 384;
  layout.interpreter.collecting = 312;
  layout.thread.frame = 0;
  layout.thread.thread_id = 136;
  layout.thread.native_thread_id = 144;
  layout.frame.previous = 8;
  layout.frame.code = 0;
  layout.frame.owner = 70;
  layout.frame.globals = 24;
  layout.frame.object = 48;
  layout.frame.is_entry = kAbsent;
  layout.code.first_line = 68;
  layout.code.instructions = 192;
  layout.code.size = 200;
  layout.object.type_cached_keys = 880;
  layout.object.str_ascii_data = 40;
  layout.object.str_compact_data = 56;
  layout.generator.frame = 72;
  layout.generator.state = 67;
  layout.semantics.entry = EntryRule::kBeforeShim;
  layout.semantics.ints = IntFormat::kTag;
  layout.semantics.attributes = AttributeFormat::kTaggedDict;
  layout.semantics.shim_owner = 3;
  layout.semantics.opcodes = 12;
  return layout;
}();

// Returns the free-threaded build of a version: the header of all objects has 16 bytes more, so the
// fields of objects lie so much further behind, and the GIL has a switch.
constexpr Layout free_threaded(Layout layout) {
  constexpr std::uint32_t kGrowth = 16;
  const auto add = [](auto&... offsets) { ((offsets += kGrowth), ...); };
  CodeOffsets& code = layout.code;
  add(code.filename, code.name, code.qualname, code.line_table, code.first_line, code.constants,
      code.names, code.exceptions, code.local_names, code.local_kinds, code.instructions,
      code.size);
  ObjectOffsets& object = layout.object;
  add(object.type, object.size, object.type_name, object.type_flags, object.type_basic_size,
      object.type_dict_offset, object.function_code, object.type_cached_keys, object.str_length,
      object.str_state, object.str_ascii_data, object.str_compact_data, object.bytes_data,
      object.tuple_items, object.list_items, object.int_tag, object.int_digits, object.float_value,
      object.dict_used, object.dict_keys, object.dict_values, object.module_dict, object.cell_value,
      object.set_mask, object.set_table, object.weakref_target, object.head);
  add(layout.generator.frame, layout.generator.state, layout.frame.line);
  layout.collector.generations = kAbsent;
  layout.gil.last_holder = 16;
  layout.gil.locked = 24;
  layout.gil.enabled = 0;
  layout.gil.size = 216;
  layout.semantics.free_threaded = true;
  return layout;
}

// Returns the same of 3.14 and later: each thread may have a copy of a function's code.
constexpr Layout free_threaded_with_copies(Layout layout) {
  layout = free_threaded(layout);
  layout.frame.owner = 78;
  layout.frame.tlbc_index = 72;
  layout.code.instructions = 232;
  layout.code.thread_code = 224;
  layout.code.size = 240;
  layout.object.str_kind_shift = 8;
  return layout;
}

// CPython 3.13: the process publishes most offsets. Headers of 3.13.0.
constexpr Layout kPython313 = [] {
  Layout layout = kPython312;
  layout.runtime.interpreters_head = 632;
  layout.runtime.finalizing = 608;
  layout.interpreter.next = 7264;
  layout.interpreter.id = 7272;
  layout.interpreter.threads_head = 7344;
  layout.interpreter.modules = 7656;
  layout.interpreter.gil = 16;
  layout.interpreter.collecting = kAbsent;
  layout.collector.generations = 24;
  layout.collector.lists = kAbsent;
  layout.thread.frame = 72;
  layout.thread.thread_id = 152;
  layout.thread.native_thread_id = 160;
  layout.thread.cframe = kAbsent;
  layout.code.instructions = 200;
  layout.code.size = 208;
  layout.keys.first_value = 8;
  layout.semantics.attributes = AttributeFormat::kInlineValues;
  layout.semantics.split_order = SplitOrder::kBehind;
  layout.semantics.states = {-2, -1, 0};
  layout.semantics.opcodes = 13;
  return layout;
}();

// The free-threaded build of CPython 3.13.
constexpr Layout kPython313t = [] {
  Layout layout = free_threaded(kPython313);
  layout.interpreter.modules = 7664;
  layout.semantics.counts_collections = false;
  return layout;
}();

// CPython 3.14: references in frames carry tags; owner 3 is the shim of a loop, owner 4 is a frame
// on the C stack. Headers of 3.14.8.
constexpr Layout kPython314 = [] {
  Layout layout = kPython313;
  layout.runtime.interpreters_head = 808;
  layout.runtime.finalizing = 784;
  layout.interpreter.next = 7272;
  layout.interpreter.id = 7280;
  layout.interpreter.modules = 7688;
  layout.frame.owner = 74;
  layout.frame.localsplus = 80;
  layout.code.instructions = 208;
  layout.code.size = 216;
  layout.object.tuple_items = 32;
  layout.semantics.reference_tags = 3;
  layout.semantics.opcodes = 14;
  layout.semantics.stack_top = StackTopFormat::kPointer;
  layout.semantics.counts_collections = false;
  return layout;
}();

// The free-threaded build of CPython 3.14.
constexpr Layout kPython314t = [] {
  Layout layout = free_threaded_with_copies(kPython314);
  layout.interpreter.modules = 7712;
  return layout;
}();

// CPython 3.15: below all frames of a thread lies a base frame that looks like a shim. Headers of
// 3.15.0.
constexpr Layout kPython315 = [] {
  Layout layout = kPython314;
  layout.runtime.interpreters_head = 936;
  layout.runtime.finalizing = 912;
  layout.interpreter.next = 7264;
  layout.interpreter.id = 7272;
  layout.interpreter.threads_head = 7336;
  layout.interpreter.modules = 7592;
  layout.collector.generations = 8;
  layout.thread.thread_id = 176;
  layout.thread.native_thread_id = 184;
  layout.thread.base_frame = 80;
  layout.object.type_cached_keys = 888;
  layout.semantics.states = {1, 3, 4};
  layout.semantics.awaited_value = 2;
  layout.semantics.opcodes = 15;
  return layout;
}();

// The free-threaded build of CPython 3.15.
constexpr Layout kPython315t = free_threaded_with_copies(kPython315);

}  // namespace

const Layout& layout_3_6() {
  return kPython36;
}

const Layout& layout_3_7(bool first_patches) {
  return first_patches ? kFirstPython37 : kPython37;
}

const Layout& layout_3_8() {
  return kPython38;
}

const Layout& layout_3_9() {
  return kPython39;
}

const Layout& layout_3_10() {
  return kPython310;
}

const Layout& layout_3_11() {
  return kPython311;
}

const Layout& layout_3_12() {
  return kPython312;
}

const Layout& layout_3_13(bool free_threaded) {
  return free_threaded ? kPython313t : kPython313;
}

const Layout& layout_3_14(bool free_threaded) {
  return free_threaded ? kPython314t : kPython314;
}

const Layout& layout_3_15(bool free_threaded) {
  return free_threaded ? kPython315t : kPython315;
}

}  // namespace oddrank::cpython
