#include "stacks/cpython/debug_offsets.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace oddrank::stacks::cpython {
namespace {

constexpr std::string_view kCookie = "xdebugpy";

// No field lies further in than this; what does is no CPython.
constexpr std::uint32_t kBigStruct = 4U << 20;  // the runtime and interpreters
constexpr std::uint32_t kSmallStruct = 4096;    // threads, frames, code, objects

// Every member of the block of 3.13, in order.
constexpr std::array<std::string_view, 70> kMembersOf13 = {
    "runtime.size",
    "runtime.finalizing",
    "runtime.interpreters_head",
    "interpreter.size",
    "interpreter.id",
    "interpreter.next",
    "interpreter.threads_head",
    "interpreter.gc",
    "interpreter.imports_modules",
    "interpreter.sysdict",
    "interpreter.builtins",
    "interpreter.ceval_gil",
    "interpreter.gil_runtime_state",
    "interpreter.gil_runtime_state_enabled",
    "interpreter.gil_runtime_state_locked",
    "interpreter.gil_runtime_state_holder",
    "thread.size",
    "thread.prev",
    "thread.next",
    "thread.interp",
    "thread.current_frame",
    "thread.thread_id",
    "thread.native_thread_id",
    "thread.datastack_chunk",
    "thread.status",
    "frame.size",
    "frame.previous",
    "frame.executable",
    "frame.instr_ptr",
    "frame.localsplus",
    "frame.owner",
    "code.size",
    "code.filename",
    "code.name",
    "code.qualname",
    "code.linetable",
    "code.firstlineno",
    "code.argcount",
    "code.localsplusnames",
    "code.localspluskinds",
    "code.co_code_adaptive",
    "object.size",
    "object.ob_type",
    "type.size",
    "type.tp_name",
    "type.tp_repr",
    "type.tp_flags",
    "tuple.size",
    "tuple.ob_item",
    "tuple.ob_size",
    "list.size",
    "list.ob_item",
    "list.ob_size",
    "dict.size",
    "dict.ma_keys",
    "dict.ma_values",
    "float.size",
    "float.ob_fval",
    "long.size",
    "long.lv_tag",
    "long.ob_digit",
    "bytes.size",
    "bytes.ob_size",
    "bytes.ob_sval",
    "unicode.size",
    "unicode.state",
    "unicode.length",
    "unicode.asciiobject_size",
    "gc.size",
    "gc.collecting",
};

std::uint64_t number_at(std::span<const std::byte> bytes, std::size_t at) {
  std::uint64_t value = 0;
  if (at + sizeof value <= bytes.size()) {
    std::memcpy(&value, bytes.data() + at, sizeof value);
  }
  return value;
}

// Takes the block apart by the names of its members; remembers the first offset that cannot be.
class Block {
 public:
  Block(std::span<const std::byte> bytes, std::span<const std::string_view> members)
      : bytes_(bytes), members_(members) {}

  std::uint64_t raw(std::string_view member) const {
    const auto found = std::find(members_.begin(), members_.end(), member);
    const auto index = static_cast<std::size_t>(found - members_.begin());
    return number_at(bytes_, kDebugOffsetsHead + index * sizeof(std::uint64_t));
  }

  // An offset of a field that is `alignment` bytes long, in a struct below `limit`.
  std::uint32_t offset(std::string_view member, std::uint32_t limit, std::uint32_t alignment = 8) {
    const std::uint64_t value = raw(member);
    if (value >= limit || value % alignment != 0) {
      if (bad_.empty()) {
        bad_ = std::string(member) + " = " + std::to_string(value);
      }
      return 0;
    }
    return static_cast<std::uint32_t>(value);
  }

  const std::string& bad() const { return bad_; }

 private:
  std::span<const std::byte> bytes_;
  std::span<const std::string_view> members_;
  std::string bad_;
};

void take_runtime(Block& block, Layout& layout) {
  layout.runtime.interpreters_head = block.offset("runtime.interpreters_head", kBigStruct);
  layout.runtime.finalizing = block.offset("runtime.finalizing", kBigStruct);
  layout.interpreter.next = block.offset("interpreter.next", kBigStruct);
  layout.interpreter.threads_head = block.offset("interpreter.threads_head", kBigStruct);
  layout.interpreter.modules = block.offset("interpreter.imports_modules", kBigStruct);
  layout.interpreter.gil = block.offset("interpreter.ceval_gil", kBigStruct);
  // The fields of the GIL are told for the one inside of the interpreter's struct.
  const std::uint32_t gil = block.offset("interpreter.gil_runtime_state", kBigStruct);
  const std::uint32_t locked = block.offset("interpreter.gil_runtime_state_locked", kBigStruct, 4);
  const std::uint32_t holder = block.offset("interpreter.gil_runtime_state_holder", kBigStruct);
  if (locked >= gil && holder >= gil && std::max(locked, holder) - gil < kSmallStruct) {
    layout.gil.locked = locked - gil;
    layout.gil.last_holder = holder - gil;
  }
}

void take_frames(Block& block, Layout& layout) {
  layout.thread.next = block.offset("thread.next", kSmallStruct);
  layout.thread.interp = block.offset("thread.interp", kSmallStruct);
  layout.thread.frame = block.offset("thread.current_frame", kSmallStruct);
  layout.thread.thread_id = block.offset("thread.thread_id", kSmallStruct);
  layout.thread.native_thread_id = block.offset("thread.native_thread_id", kSmallStruct);
  layout.frame.previous = block.offset("frame.previous", kSmallStruct);
  layout.frame.code = block.offset("frame.executable", kSmallStruct);
  layout.frame.instruction = block.offset("frame.instr_ptr", kSmallStruct);
  layout.frame.owner = block.offset("frame.owner", kSmallStruct, 1);
  layout.frame.localsplus = block.offset("frame.localsplus", kSmallStruct);
  layout.code.filename = block.offset("code.filename", kSmallStruct);
  layout.code.name = block.offset("code.name", kSmallStruct);
  layout.code.qualname = block.offset("code.qualname", kSmallStruct);
  layout.code.line_table = block.offset("code.linetable", kSmallStruct);
  layout.code.first_line = block.offset("code.firstlineno", kSmallStruct, 4);
  layout.code.local_names = block.offset("code.localsplusnames", kSmallStruct);
  layout.code.local_kinds = block.offset("code.localspluskinds", kSmallStruct);
  layout.code.instructions = block.offset("code.co_code_adaptive", kSmallStruct, 2);
  // Ours, not the block's: no more of a code object is read than what the fields need.
  layout.code.size = layout.code.instructions;
}

void take_objects(Block& block, Layout& layout) {
  layout.object.type = block.offset("object.ob_type", kSmallStruct);
  layout.object.size = block.offset("tuple.ob_size", kSmallStruct);
  layout.object.type_name = block.offset("type.tp_name", kSmallStruct);
  layout.object.type_flags = block.offset("type.tp_flags", kSmallStruct);
  layout.object.str_length = block.offset("unicode.length", kSmallStruct);
  layout.object.str_state = block.offset("unicode.state", kSmallStruct, 4);
  layout.object.str_ascii_data = block.offset("unicode.asciiobject_size", kSmallStruct);
  // PyCompactUnicodeObject adds the length and the address of a UTF-8 copy.
  layout.object.str_compact_data = layout.object.str_ascii_data + 16;
  layout.object.bytes_data = block.offset("bytes.ob_sval", kSmallStruct, 1);
  layout.object.tuple_items = block.offset("tuple.ob_item", kSmallStruct);
  layout.object.list_items = block.offset("list.ob_item", kSmallStruct);
  layout.object.int_tag = block.offset("long.lv_tag", kSmallStruct);
  layout.object.int_digits = block.offset("long.ob_digit", kSmallStruct, 4);
  layout.object.float_value = block.offset("float.ob_fval", kSmallStruct);
}

}  // namespace

bool has_debug_offsets(std::span<const std::byte> bytes) {
  return bytes.size() >= kDebugOffsetsHead &&
         std::memcmp(bytes.data(), kCookie.data(), kCookie.size()) == 0;
}

Result<DebugOffsets> parse_debug_offsets(std::span<const std::byte> bytes) {
  if (!has_debug_offsets(bytes)) {
    return fail(Errc::kBadData, "no debug offsets at the start of _PyRuntime");
  }
  auto version = version_from_hex(number_at(bytes, 8));
  const std::uint64_t free_threaded = number_at(bytes, 16);
  if (!version || free_threaded > 1) {
    return fail(Errc::kBadData, "debug offsets of an impossible version");
  }
  if (free_threaded == 1) {
    return fail(Errc::kUnsupported, "free-threaded Python " + version->text + " is not supported",
                "native stacks are read all the same");
  }
  if (version->minor != 13) {
    return fail(Errc::kUnsupported, "Python " + version->text + " is not supported",
                "known are 3.8 to 3.13; native stacks are read all the same");
  }
  if (bytes.size() < kDebugOffsetsHead + kMembersOf13.size() * sizeof(std::uint64_t)) {
    return fail(Errc::kBadData, "debug offsets of Python " + version->text + " are cut short");
  }
  Block block(bytes, kMembersOf13);
  DebugOffsets result{*std::move(version), layout_3_13()};
  take_runtime(block, result.layout);
  take_frames(block, result.layout);
  take_objects(block, result.layout);
  if (!block.bad().empty()) {
    return fail(Errc::kBadData, "debug offsets of Python " + result.version.text +
                                    " are impossible: " + block.bad());
  }
  return result;
}

}  // namespace oddrank::stacks::cpython
