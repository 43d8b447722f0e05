#include "cpython/locals.h"

#include <string>

#include "base/secrets/mask_secrets.h"
#include "cpython/objects/dicts.h"
#include "cpython/objects/objects.h"
#include "cpython/objects/strings.h"
#include "cpython/objects/types.h"

namespace oddrank::cpython {
namespace {

// Bits of co_localspluskinds; the same in 3.11 to 3.15 (pycore_code.h).
constexpr std::uint8_t kCellOrFree = 0x40 | 0x80;

struct Slot {
  Addr name{};
  bool may_be_cell = false;
};

struct Slots {
  std::vector<Slot> slots;   // up to a limit
  std::uint64_t others = 0;  // how many there are beyond these
};

// Appends the strings of a tuple as slots, up to the limit.
void append_slots(
    PythonMemory& memory, Addr tuple, bool may_be_cell, std::size_t limit, Slots& all) {
  const Layout& layout = memory.layout();
  constexpr std::uint64_t kMaxVariables = 1 << 20;  // of one code object
  if (!is_instance(memory, tuple, TypeFlag::kTuple)) {
    return;
  }
  const auto size = memory.value<std::uint64_t>(tuple + layout.object.size).value_or(0);
  std::uint64_t i = 0;
  for (; i < size && all.slots.size() < limit; ++i) {
    const Addr item = tuple + layout.object.tuple_items + i * sizeof(std::uint64_t);
    all.slots.push_back({memory.pointer_or_null(item), may_be_cell});
  }
  all.others += size < kMaxVariables ? size - i : 0;
}

Slots read_slots(PythonMemory& memory, Addr code, std::size_t limit = kMaxLocals) {
  const Layout& layout = memory.layout();
  const CodeOffsets& offsets = layout.code;
  Slots all;
  std::vector<Slot>& slots = all.slots;
  append_slots(memory, memory.pointer_or_null(code + offsets.local_names), false, limit, all);
  if (offsets.local_kinds == kAbsent) {
    // Variables, then cells, then free variables; the first two share no slot here.
    append_slots(memory, memory.pointer_or_null(code + offsets.cell_names), true, limit, all);
    append_slots(memory, memory.pointer_or_null(code + offsets.free_names), true, limit, all);
    return all;
  }
  const Addr kinds = memory.pointer_or_null(code + offsets.local_kinds) + layout.object.bytes_data;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    slots[i].may_be_cell = (memory.value<std::uint8_t>(kinds + i).value_or(0) & kCellOrFree) != 0;
  }
  return all;
}

// Returns what the frame's slot refers to, through its cell if it has one; null if it is not bound.
Addr value_in_slot(PythonMemory& memory,
                   const RawFrame& frame,
                   const std::vector<Slot>& slots,
                   std::size_t index) {
  const Layout& layout = memory.layout();
  const Addr at = frame.address + layout.frame.localsplus + index * sizeof(std::uint64_t);
  const Addr value = without_tags(layout, memory.pointer_or_null(at));
  const bool is_cell =
      value != Addr{} && slots[index].may_be_cell && type_name(memory, value) == "cell";
  return is_cell ? memory.pointer_or_null(value + layout.object.cell_value) : value;
}

PythonLocal shown(PythonMemory& memory, const std::string& name, Addr value) {
  std::string text = print_object(memory, value);
  const bool type_alone = text.starts_with('<');  // "<Tensor (2, 3)>", a layer's query or key
  const bool hidden = !type_alone && names_secret(name) && !is_innocent_value(name, text);
  return {name, hidden ? "<hidden>" : std::move(text), false};
}

}  // namespace

void prefetch_locals(PythonMemory& memory, std::span<const RawFrame> frames) {
  const Layout& layout = memory.layout();
  constexpr std::size_t kPointers = kMaxLocals * sizeof(std::uint64_t);
  constexpr std::size_t kObject = 64;  // bytes: the start of most objects, with the printed fields
  std::vector<PythonMemory::Range> ranges;
  for (const RawFrame& frame : frames) {
    const Addr names = memory.pointer_or_null(frame.code + layout.code.local_names);
    ranges.push_back({names, layout.object.tuple_items + kPointers});
    ranges.push_back({frame.address + layout.frame.localsplus, kPointers});
  }
  memory.prefetch(ranges);

  std::vector<Addr> values;
  ranges.clear();
  for (const RawFrame& frame : frames) {
    const std::vector<Slot> slots = read_slots(memory, frame.code).slots;
    for (std::size_t i = 0; i < slots.size(); ++i) {
      const Addr slot = frame.address + layout.frame.localsplus + i * sizeof(std::uint64_t);
      values.push_back(without_tags(layout, memory.pointer_or_null(slot)));
      ranges.push_back({values.back(), kObject});
      ranges.push_back({slots[i].name, layout.object.str_compact_data + kObject});
    }
  }
  memory.prefetch(ranges);

  ranges.clear();
  for (const Addr value : values) {
    ranges.push_back({type_of(memory, value), layout.object.type_flags + 8});
  }
  memory.prefetch(ranges);
  ranges.clear();
  for (const Addr value : values) {
    const Addr type = type_of(memory, value);
    ranges.push_back({memory.pointer_or_null(type + layout.object.type_name), kObject});
  }
  memory.prefetch(ranges);
}

std::vector<PythonLocal> read_module_variables(PythonMemory& memory,
                                               const RawFrame& frame,
                                               std::span<const std::string> names) {
  std::vector<PythonLocal> variables;
  const Addr dict = memory.pointer_or_null(frame.address + memory.layout().frame.globals);
  for (const std::string& name : names) {
    const Addr value = find_in_dict(memory, dict, name);
    if (value != Addr{} && is_plain(memory, value)) {
      variables.push_back(shown(memory, name, value));
    }
  }
  return variables;
}

// Says how many variables have no slot among those that were read.
void add_others(const Slots& all, std::vector<PythonLocal>& locals) {
  if (all.others > 0) {
    locals.push_back({"...", "<" + std::to_string(all.others) + " more>", true});
  }
}

std::vector<PythonLocal> read_locals(PythonMemory& memory, const RawFrame& frame, bool plain_only) {
  std::vector<PythonLocal> locals;
  const Slots all = read_slots(memory, frame.code);
  const std::vector<Slot>& slots = all.slots;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const Addr value = value_in_slot(memory, frame, slots, i);
    const auto name = read_string(memory, slots[i].name, kMaxNameLength);
    if (value == Addr{} || !name) {
      continue;  // not bound (not yet, or no longer)
    }
    if (plain_only && !is_plain(memory, value) && !is_telling(memory, value)) {
      continue;
    }
    locals.push_back(shown(memory, name->utf8, value));
  }
  if (!plain_only) {
    add_others(all, locals);
  }
  return locals;
}

std::vector<PythonLocal> read_contents(PythonMemory& memory,
                                       const RawFrame& frame,
                                       ContentsPrinter& printer) {
  std::vector<PythonLocal> locals;
  const Slots all = read_slots(memory, frame.code, kMaxShownLocals);
  for (std::size_t i = 0; i < all.slots.size(); ++i) {
    const Addr value = value_in_slot(memory, frame, all.slots, i);
    const auto name = read_string(memory, all.slots[i].name, kMaxNameLength);
    if (value != Addr{} && name) {
      locals.push_back({name->utf8, printer.print(name->utf8, value), true});
    }
  }
  add_others(all, locals);
  return locals;
}

std::vector<Addr> read_local_values(PythonMemory& memory, const RawFrame& frame) {
  const std::vector<Slot> slots = read_slots(memory, frame.code).slots;
  std::vector<Addr> values;
  for (std::size_t i = 0; frame.address != Addr{} && i < slots.size(); ++i) {
    if (const Addr value = value_in_slot(memory, frame, slots, i); value != Addr{}) {
      values.push_back(value);
    }
  }
  return values;
}

std::vector<Addr> read_code_names(PythonMemory& memory, const RawFrame& frame) {
  constexpr std::size_t kMaxNames = 256;
  Slots names;
  append_slots(memory, memory.pointer_or_null(frame.code + memory.layout().code.names), false,
               kMaxNames, names);
  std::vector<Addr> strings;
  for (const Slot& slot : names.slots) {
    strings.push_back(slot.name);
  }
  return strings;
}

std::vector<Addr> read_named_globals(PythonMemory& memory, const RawFrame& frame) {
  const Layout& layout = memory.layout();
  const Addr dict = frame.address == Addr{}
                        ? Addr{}
                        : memory.pointer_or_null(frame.address + layout.frame.globals);
  std::vector<Addr> values;
  for (const Addr string : read_code_names(memory, frame)) {
    const auto name = read_string(memory, string, kMaxNameLength);
    const Addr value = name ? find_in_dict(memory, dict, name->utf8) : Addr{};
    if (value != Addr{}) {
      values.push_back(value);
    }
  }
  return values;
}

Addr read_local(PythonMemory& memory, const RawFrame& frame, std::string_view name) {
  const std::vector<Slot> slots = read_slots(memory, frame.code).slots;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const auto text = read_string(memory, slots[i].name, kMaxNameLength);
    if (text && text->utf8 == name) {
      return value_in_slot(memory, frame, slots, i);
    }
  }
  return Addr{};
}

}  // namespace oddrank::cpython
