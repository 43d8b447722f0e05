#include "cpython/code_object.h"

#include <algorithm>
#include <optional>

#include "cpython/line_table.h"
#include "cpython/objects/strings.h"
#include "cpython/objects/types.h"

namespace oddrank::cpython {
namespace {

using Ranges = std::vector<PythonMemory::Range>;

CodeObject read_head(PythonMemory& memory, Addr address) {
  const CodeOffsets& offsets = memory.layout().code;
  CodeObject code;
  const bool has_qualname = offsets.qualname != kAbsent;
  code.file_object = memory.pointer_or_null(address + offsets.filename);
  code.function_object =
      memory.pointer_or_null(address + (has_qualname ? offsets.qualname : offsets.name));
  code.line_table_object = memory.pointer_or_null(address + offsets.line_table);
  code.first_line = memory.value<std::int32_t>(address + offsets.first_line).value_or(0);
  if (offsets.instructions != kAbsent) {
    code.instructions = address + offsets.instructions;
  }
  return code;
}

bool same_head(const CodeObject& a, const CodeObject& b) {
  return a.file_object == b.file_object && a.function_object == b.function_object &&
         a.line_table_object == b.line_table_object && a.first_line == b.first_line;
}

// Fetches what read_parts will need, in two steps: the objects' heads, then their data.
void prefetch_parts(PythonMemory& memory, std::span<const Addr> codes) {
  const Layout& layout = memory.layout();
  Ranges heads;
  std::vector<CodeObject> objects;
  for (const Addr address : codes) {
    objects.push_back(read_head(memory, address));
    const CodeObject& code = objects.back();
    heads.push_back({type_of(memory, address), layout.object.type_flags + 8});
    heads.push_back({code.file_object, layout.object.str_compact_data});
    heads.push_back({code.function_object, layout.object.str_compact_data});
    heads.push_back({code.line_table_object, layout.object.bytes_data});
  }
  memory.prefetch(heads);
  Ranges data;
  for (const CodeObject& code : objects) {
    data.push_back(string_range(memory, code.file_object));
    data.push_back(string_range(memory, code.function_object));
    const auto size =
        memory.value<std::uint64_t>(code.line_table_object + layout.object.size).value_or(0);
    if (size <= kMaxBytes) {
      data.push_back(
          {code.line_table_object + layout.object.bytes_data, static_cast<std::size_t>(size)});
    }
    data.push_back({type_of(memory, code.file_object), layout.object.type_flags + 8});
    data.push_back({type_of(memory, code.line_table_object), layout.object.type_flags + 8});
  }
  memory.prefetch(data);
}

void read_parts(PythonMemory& memory, Addr address, CodeObject& code) {
  if (type_name(memory, address) != "code") {
    return;
  }
  const auto function = read_string(memory, code.function_object);
  const auto file = read_string(memory, code.file_object);
  if (!function && !file) {
    return;
  }
  code.readable = true;
  code.function = function ? function->utf8 : "";
  code.file = file ? file->utf8 : "";
  // A frame is useful even without its line table; the line is then unknown.
  if (auto table = read_bytes(memory, code.line_table_object)) {
    code.line_table = *std::move(table);
  }
}

}  // namespace

void CodeCache::load(PythonMemory& memory, std::span<const Addr> codes) {
  const Layout& layout = memory.layout();
  if (codes_.size() > kMaxCodes) {
    codes_.clear();
  }
  Ranges heads;
  for (const Addr address : codes) {
    heads.push_back({address, layout.code.size});
  }
  memory.prefetch(heads);

  std::vector<Addr> wanted;
  for (const Addr address : codes) {
    auto& slot = codes_[value_of(address)];
    CodeObject head = read_head(memory, address);
    if (slot == nullptr || !slot->readable || !same_head(*slot, head)) {
      slot = std::make_unique<CodeObject>(std::move(head));
      wanted.push_back(address);
    }
  }
  prefetch_parts(memory, wanted);
  for (const Addr address : wanted) {
    read_parts(memory, address, *codes_[value_of(address)]);
  }
  if (layout.code.thread_code != kAbsent) {
    load_copies(memory, codes);
  }
}

// A thread gets its copy when it first runs a function, so the copies are read anew each time.
void CodeCache::load_copies(PythonMemory& memory, std::span<const Addr> codes) {
  constexpr std::size_t kMaxCopies = 4096;
  Ranges ranges;
  for (const Addr address : codes) {
    const Addr array = memory.pointer_or_null(address + memory.layout().code.thread_code);
    ranges.push_back({array, kPointerSize});
  }
  memory.prefetch(ranges);
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const Addr array = ranges[i].address;
    CodeObject& code = *codes_[value_of(codes[i])];
    const std::uint64_t size = memory.value<std::uint64_t>(array).value_or(0);
    code.copies.resize(static_cast<std::size_t>(std::min<std::uint64_t>(size, kMaxCopies)));
    for (std::size_t copy = 0; copy < code.copies.size(); ++copy) {
      code.copies[copy] = memory.pointer_or_null(array + (copy + 1) * kPointerSize);
    }
  }
}

const CodeObject& CodeCache::at(Addr code) const {
  const auto found = codes_.find(value_of(code));
  return found == codes_.end() ? none_ : *found->second;
}

Addr first_instruction(const CodeObject& code, const RawFrame& frame) {
  // Copy 0 is the original.
  const bool copied = frame.code_copy > 0 && frame.code_copy < code.copies.size();
  return copied ? code.copies[frame.code_copy] : code.instructions;
}

std::int64_t instruction_offset(const Layout& layout,
                                const CodeObject& code,
                                const RawFrame& frame) {
  constexpr std::int64_t kUnit = 2;
  switch (layout.semantics.instruction) {
    case InstructionFormat::kUnitIndex:
      return static_cast<std::int64_t>(frame.instruction) * kUnit;
    case InstructionFormat::kPointer:
      return static_cast<std::int64_t>(frame.instruction -
                                       value_of(first_instruction(code, frame)));
    default:
      return static_cast<std::int64_t>(frame.instruction);
  }
}

std::uint32_t line_of(const Layout& layout, const CodeObject& code, const RawFrame& frame) {
  return line_of(layout.semantics.lines, code.line_table, code.first_line,
                 instruction_offset(layout, code, frame));
}

std::uint32_t line_of(PythonMemory& memory, const CodeObject& code, const RawFrame& frame) {
  const Layout& layout = memory.layout();
  // Up to 3.9 a frame keeps the line of the last trace function, or its first line. If all code is
  // on one line, as an empty table says, both are the same line.
  const bool kept = layout.semantics.lines == LineFormat::kLnotab && !code.line_table.empty();
  const auto line = kept || frame.object == Addr{}
                        ? std::nullopt
                        : memory.value<std::int32_t>(frame.object + layout.frame.line);
  return line.value_or(0) > 0 ? static_cast<std::uint32_t>(*line) : line_of(layout, code, frame);
}

void prefetch_lines(PythonMemory& memory, std::span<const FrameChain> chains) {
  Ranges ranges;
  for (const FrameChain& chain : chains) {
    for (const RawFrame& frame : chain.frames) {
      if (frame.object != frame.address && frame.object != Addr{}) {
        ranges.push_back({frame.object + memory.layout().frame.line, sizeof(std::int32_t)});
      }
    }
  }
  memory.prefetch(ranges);
}

}  // namespace oddrank::cpython
