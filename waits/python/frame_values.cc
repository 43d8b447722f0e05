// Source: Include/cpython/frameobject.h of 3.8 to 3.10 (PyFrameObject: f_valuestack, f_iblock and
// f_blockstack, right before f_localsplus).
#include "waits/python/frame_values.h"

#include <algorithm>
#include <cstdint>
#include <span>

#include "cpython/bytecode/exception_table.h"
#include "cpython/objects/strings.h"
#include "cpython/objects/types.h"

namespace oddrank::waits {
namespace {

using attach::Addr;
using cpython::InstructionFormat;
using cpython::kPointerSize;
using cpython::Layout;
using cpython::PythonMemory;
using cpython::RawFrame;

constexpr std::size_t kMaxLocals = 512;
constexpr std::size_t kMaxStack = 64;  // real code nests `with`s and loops less deeply

bool has_exception_table(const Layout& layout) {
  return layout.semantics.instruction == InstructionFormat::kPointer;
}

// --- up to 3.10 ---

struct Block {  // PyTryBlock
  std::int32_t type;
  std::int32_t handler;
  std::int32_t level;
};
constexpr std::int32_t kMaxBlocks = 20;  // CO_MAXBLOCKS
constexpr std::uint32_t kBlockStackBytes = kMaxBlocks * sizeof(Block);

std::size_t depth_by_blocks(PythonMemory& memory, Addr frame) {
  const std::uint32_t blocks = memory.layout().frame.localsplus - kBlockStackBytes;
  const auto count = memory.value<std::int32_t>(frame + blocks - kPointerSize).value_or(0);
  if (count <= 0 || count > kMaxBlocks) {
    return 0;
  }
  const auto last =
      memory.value<Block>(frame + blocks + static_cast<std::uint64_t>(count - 1) * sizeof(Block));
  return last && last->level > 0 ? static_cast<std::size_t>(last->level) : 0;
}

// --- 3.11 and later ---

std::size_t depth_by_table(std::span<const std::byte> table, std::uint64_t instruction) {
  const auto rows = cpython::read_exception_table(table);
  const auto row = std::find_if(rows.begin(), rows.end(), [&](const cpython::HandlerRange& one) {
    return instruction >= one.begin && instruction < one.end;
  });
  return row == rows.end() ? 0 : row->depth;
}

// Each copy that a free-threaded thread may run has the same table.
std::size_t depth_by_code(PythonMemory& memory,
                          const cpython::CodeObject& code,
                          const RawFrame& frame) {
  const Layout& layout = memory.layout();
  constexpr std::uint64_t kUnit = 2;  // bytes; the table counts in units
  const std::int64_t offset = cpython::instruction_offset(layout, code, frame);
  const bool known = frame.code_copy == 0 || frame.code_copy < code.copies.size();
  if (!code.readable || !known || offset < 0) {
    return 0;
  }
  const Addr table = memory.pointer_or_null(frame.code + layout.code.exceptions);
  const auto bytes = cpython::read_bytes(memory, table);
  return bytes ? depth_by_table(*bytes, static_cast<std::uint64_t>(offset) / kUnit) : 0;
}

}  // namespace

std::size_t FrameValues::live_depth(const RawFrame& frame) {
  if (!has_exception_table(memory_.layout())) {
    return depth_by_blocks(memory_, frame.address);
  }
  const auto [at, is_new] =
      depths_.try_emplace({attach::value_of(frame.code), frame.instruction}, 0);
  if (is_new) {
    at->second = depth_by_code(memory_, python_.code(frame), frame);
  }
  return at->second;
}

std::size_t FrameValues::count_locals(Addr code) {
  const Layout& layout = memory_.layout();
  const auto [at, is_new] = locals_.try_emplace(attach::value_of(code), 0);
  if (is_new) {
    const Addr names = memory_.pointer_or_null(code + layout.code.local_names);
    const auto count = memory_.value<std::uint64_t>(names + layout.object.size).value_or(0);
    at->second = static_cast<std::size_t>(std::min<std::uint64_t>(count, kMaxLocals));
  }
  return at->second;
}

Addr FrameValues::stack_base(const RawFrame& frame) {
  const Layout& layout = memory_.layout();
  if (has_exception_table(layout)) {
    return frame.address + layout.frame.localsplus + count_locals(frame.code) * kPointerSize;
  }
  return memory_.pointer_or_null(frame.address + layout.frame.code + 4 * kPointerSize);
}

std::vector<Addr> FrameValues::read_slots(Addr base, std::size_t count) {
  std::vector<Addr> values;
  for (std::size_t i = 0; i < count && base != Addr{}; ++i) {
    const auto slot = memory_.pointer(base + i * kPointerSize);
    if (!slot) {
      break;
    }
    if (const Addr value = cpython::without_tags(memory_.layout(), *slot); value != Addr{}) {
      values.push_back(value);
    }
  }
  return values;
}

Addr FrameValues::slot(const RawFrame& frame, std::size_t index) {
  const Layout& layout = memory_.layout();
  const Addr at = frame.address + layout.frame.localsplus + index * kPointerSize;
  return cpython::without_tags(layout, memory_.pointer_or_null(at));
}

Addr FrameValues::self(const RawFrame& frame) {
  return count_locals(frame.code) > 0 ? slot(frame, 0) : Addr{};
}

Addr FrameValues::local(const RawFrame& frame, std::string_view name) {
  const Layout& layout = memory_.layout();
  const Addr names = memory_.pointer_or_null(frame.code + layout.code.local_names);
  const std::size_t count = count_locals(frame.code);
  for (std::size_t i = 0; i < count; ++i) {
    const Addr text = memory_.pointer_or_null(names + layout.object.tuple_items + i * kPointerSize);
    const auto read = cpython::read_string(memory_, text, name.size() + 1);
    if (read && read->utf8 == name) {
      return slot(frame, i);
    }
  }
  return {};
}

std::vector<Addr> FrameValues::live(const RawFrame& frame) {
  if (frame.address == Addr{}) {
    return {};
  }
  const std::size_t depth = live_depth(frame);
  if (depth == 0 || depth > kMaxStack) {
    return {};
  }
  return read_slots(stack_base(frame), depth);
}

std::vector<Addr> FrameValues::all(const RawFrame& frame) {
  if (frame.address == Addr{}) {
    return {};
  }
  std::vector<Addr> values =
      read_slots(frame.address + memory_.layout().frame.localsplus, count_locals(frame.code));
  const std::vector<Addr> stack = read_slots(stack_base(frame), kMaxStack / 4);
  values.insert(values.end(), stack.begin(), stack.end());
  return values;
}

}  // namespace oddrank::waits
