#include "cpython/layouts/debug_offsets.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "cpython/layouts/offset_members.h"
#include "cpython/remote_reader.h"

namespace oddrank::cpython {
namespace {

constexpr std::string_view kCookie = "xdebugpy";

// No field of a CPython has a larger offset.
constexpr std::uint32_t kMaxBigOffset = 4U << 20;  // the runtime and interpreters
constexpr std::uint32_t kMaxSmallOffset = 4096;    // threads, frames, code, objects

// Reads the block by the names of its members; remembers the first impossible offset.
class Block {
 public:
  Block(std::span<const std::byte> bytes, std::string_view members)
      : bytes_(bytes), members_(members) {}

  bool has(std::string_view member) const { return member_index(members_, member).has_value(); }

  std::uint64_t raw(std::string_view member) const;

  // Returns the offset of a field; notes it as bad unless it is below `limit` and aligned.
  std::uint32_t offset(std::string_view member, std::uint32_t limit, std::uint32_t alignment = 8);

  const std::string& bad() const { return bad_; }

 private:
  std::span<const std::byte> bytes_;
  std::string_view members_;
  std::string bad_;
};

std::uint64_t Block::raw(std::string_view member) const {
  // A member that is not in the list reads as 0: its index is beyond the end of the block.
  const std::size_t index = member_index(members_, member).value_or(bytes_.size());
  return number_at<std::uint64_t>(bytes_, kDebugOffsetsHead + index * sizeof(std::uint64_t));
}

std::uint32_t Block::offset(std::string_view member, std::uint32_t limit, std::uint32_t alignment) {
  const std::uint64_t value = raw(member);
  if (value >= limit || value % alignment != 0) {
    if (bad_.empty()) {
      bad_ = std::string(member) + " = " + std::to_string(value);
    }
    return 0;
  }
  return static_cast<std::uint32_t>(value);
}

void take_runtime(Block& block, Layout& layout) {
  layout.runtime.interpreters_head = block.offset("runtime.interpreters_head", kMaxBigOffset);
  layout.runtime.finalizing = block.offset("runtime.finalizing", kMaxBigOffset);
  layout.interpreter.next = block.offset("interpreter.next", kMaxBigOffset);
  layout.interpreter.id = block.offset("interpreter.id", kMaxBigOffset);
  layout.interpreter.threads_head = block.offset("interpreter.threads_head", kMaxBigOffset);
  layout.interpreter.modules = block.offset("interpreter.imports_modules", kMaxBigOffset);
  layout.interpreter.gil = block.offset("interpreter.ceval_gil", kMaxBigOffset);
  const std::uint32_t collecting = block.offset("gc.collecting", kMaxSmallOffset, 4);
  layout.interpreter.collecting = block.offset("interpreter.gc", kMaxBigOffset) + collecting;
  if (layout.collector.generations < collecting) {
    layout.collector.lists = collecting - layout.collector.generations;
  }
  // The block has the offsets of the GIL that lies inside the interpreter's struct.
  const std::uint32_t gil = block.offset("interpreter.gil_runtime_state", kMaxBigOffset);
  const std::uint32_t locked =
      block.offset("interpreter.gil_runtime_state_locked", kMaxBigOffset, 4);
  const std::uint32_t holder = block.offset("interpreter.gil_runtime_state_holder", kMaxBigOffset);
  if (locked >= gil && holder >= gil && std::max(locked, holder) - gil < kMaxSmallOffset) {
    layout.gil.locked = locked - gil;
    layout.gil.last_holder = holder - gil;
  }
  if (layout.semantics.free_threaded) {
    layout.gil.enabled = block.offset("interpreter.gil_runtime_state_enabled", kMaxSmallOffset, 4);
  }
}

void take_frames(Block& block, Layout& layout) {
  layout.thread.next = block.offset("thread.next", kMaxSmallOffset);
  layout.thread.interp = block.offset("thread.interp", kMaxSmallOffset);
  layout.thread.frame = block.offset("thread.current_frame", kMaxSmallOffset);
  layout.thread.thread_id = block.offset("thread.thread_id", kMaxSmallOffset);
  layout.thread.native_thread_id = block.offset("thread.native_thread_id", kMaxSmallOffset);
  if (block.has("thread.base_frame")) {
    layout.thread.base_frame = block.offset("thread.base_frame", kMaxSmallOffset);
  }
  layout.frame.previous = block.offset("frame.previous", kMaxSmallOffset);
  layout.frame.code = block.offset("frame.executable", kMaxSmallOffset);
  layout.frame.instruction = block.offset("frame.instr_ptr", kMaxSmallOffset);
  layout.frame.owner = block.offset("frame.owner", kMaxSmallOffset, 1);
  layout.frame.localsplus = block.offset("frame.localsplus", kMaxSmallOffset);
  if (layout.frame.tlbc_index != kAbsent) {
    layout.frame.tlbc_index = block.offset("frame.tlbc_index", kMaxSmallOffset, 4);
    layout.code.thread_code = block.offset("code.co_tlbc", kMaxSmallOffset);
  }
  if (block.has("frame.stackpointer")) {
    layout.frame.stack_top = block.offset("frame.stackpointer", kMaxSmallOffset);
    layout.generator.frame = block.offset("gen.gi_iframe", kMaxSmallOffset);
    layout.generator.state = block.offset("gen.gi_frame_state", kMaxSmallOffset, 1);
  }
  layout.code.filename = block.offset("code.filename", kMaxSmallOffset);
  layout.code.name = block.offset("code.name", kMaxSmallOffset);
  layout.code.qualname = block.offset("code.qualname", kMaxSmallOffset);
  layout.code.line_table = block.offset("code.linetable", kMaxSmallOffset);
  layout.code.first_line = block.offset("code.firstlineno", kMaxSmallOffset, 4);
  layout.code.local_names = block.offset("code.localsplusnames", kMaxSmallOffset);
  layout.code.local_kinds = block.offset("code.localspluskinds", kMaxSmallOffset);
  layout.code.instructions = block.offset("code.co_code_adaptive", kMaxSmallOffset, 2);
  // The published size is not used: only as much of a code object is read as the fields need.
  layout.code.size = layout.code.instructions;
}

void take_objects(Block& block, Layout& layout) {
  ObjectOffsets& object = layout.object;
  object.type = block.offset("object.ob_type", kMaxSmallOffset);
  object.size = block.offset("tuple.ob_size", kMaxSmallOffset);
  object.type_name = block.offset("type.tp_name", kMaxSmallOffset);
  object.type_flags = block.offset("type.tp_flags", kMaxSmallOffset);
  if (block.has("heap_type.ht_cached_keys")) {
    object.type_basic_size = block.offset("type.tp_basicsize", kMaxSmallOffset);
    object.type_dict_offset = block.offset("type.tp_dictoffset", kMaxSmallOffset);
    object.type_cached_keys = block.offset("heap_type.ht_cached_keys", kMaxSmallOffset);
  }
  object.str_length = block.offset("unicode.length", kMaxSmallOffset);
  object.str_state = block.offset("unicode.state", kMaxSmallOffset, 4);
  object.str_ascii_data = block.offset("unicode.asciiobject_size", kMaxSmallOffset);
  // PyCompactUnicodeObject adds the length and the address of a UTF-8 copy.
  object.str_compact_data = object.str_ascii_data + 16;
  object.bytes_data = block.offset("bytes.ob_sval", kMaxSmallOffset, 1);
  object.tuple_items = block.offset("tuple.ob_item", kMaxSmallOffset);
  object.list_items = block.offset("list.ob_item", kMaxSmallOffset);
  object.int_tag = block.offset("long.lv_tag", kMaxSmallOffset);
  object.int_digits = block.offset("long.ob_digit", kMaxSmallOffset, 4);
  object.float_value = block.offset("float.ob_fval", kMaxSmallOffset);
  if (block.has("set.table")) {
    object.set_mask = block.offset("set.mask", kMaxSmallOffset);
    object.set_table = block.offset("set.table", kMaxSmallOffset);
  }
  object.dict_keys = block.offset("dict.ma_keys", kMaxSmallOffset);
  object.dict_values = block.offset("dict.ma_values", kMaxSmallOffset);
}

// Returns whether the version is a release candidate or later: alpha and beta versions still move
// fields.
bool is_settled(std::uint64_t hex) {
  return (hex >> 4 & 0xf) >= 0xc;
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
  const std::uint64_t hex = number_at<std::uint64_t>(bytes, 8);
  const std::uint64_t free_threaded = number_at<std::uint64_t>(bytes, 16);
  auto version = version_from_hex(hex);
  if (!version || free_threaded > 1) {
    return fail(Errc::kBadData, "debug offsets of an impossible version");
  }
  if (free_threaded == 1) {
    version->text += "t";
  }
  const std::string_view members = offset_members(version->minor);
  const Layout* table = static_layout(*version, free_threaded == 1);
  if (members.empty() || table == nullptr || !is_settled(hex)) {
    return fail(unsupported_version(*version));
  }
  if (bytes.size() < kDebugOffsetsHead + member_count(members) * sizeof(std::uint64_t)) {
    return fail(Errc::kBadData, "debug offsets of Python " + version->text + " are cut short");
  }
  Block block(bytes, members);
  DebugOffsets result{*std::move(version), *table};
  take_runtime(block, result.layout);
  take_frames(block, result.layout);
  take_objects(block, result.layout);
  if (!block.bad().empty()) {
    return fail(Errc::kBadData, "debug offsets of Python " + result.version.text +
                                    " are impossible: " + block.bad());
  }
  return result;
}

Error unsupported_version(const Version& version) {
  return Error{Errc::kUnsupported, "Python " + version.text + " is not supported",
               "known are 3." + std::to_string(kOldestMinor) + " to 3." +
                   std::to_string(kNewestMinor) + "; native stacks are read all the same"};
}

}  // namespace oddrank::cpython
