// Source: Include/cpython/code.h of 3.8 to 3.15 (PyCodeObject; from 3.11 on ob_size counts units).
#include "cpython/bytecode/code_analysis.h"

#include <algorithm>

#include "cpython/objects/strings.h"

namespace oddrank::cpython {
namespace {

constexpr std::uint64_t kUnitBytes = 2;  // bytes
// Bytes fetched at once; longer code needs another call.
constexpr std::size_t kAhead = 4096;

}  // namespace

CodeAnalysis::CodeAnalysis(PythonMemory& memory)
    : memory_(memory), table_(instructions_of(memory.layout().semantics.opcodes)) {}

void CodeAnalysis::prefetch(std::span<const RawFrame> frames) {
  const Layout& layout = memory_.layout();
  std::vector<PythonMemory::Range> ranges;
  for (const RawFrame& frame : frames) {
    if (layout.code.bytecode != kAbsent) {
      ranges.push_back({memory_.pointer_or_null(frame.code + layout.code.bytecode), kAhead});
    } else {
      ranges.push_back({frame.code + layout.code.instructions, kAhead});
      ranges.push_back({memory_.pointer_or_null(frame.code + layout.code.exceptions), kAhead / 8});
    }
    ranges.push_back({memory_.pointer_or_null(frame.code + layout.code.names), kAhead / 8});
  }
  memory_.prefetch(ranges);
}

std::optional<std::vector<std::byte>> CodeAnalysis::read_instructions(Addr code,
                                                                      Addr instructions) {
  const Layout& layout = memory_.layout();
  if (layout.code.bytecode != kAbsent) {
    return read_bytes(memory_, memory_.pointer_or_null(code + layout.code.bytecode));
  }
  const auto units = memory_.value<std::uint64_t>(code + layout.object.size).value_or(0);
  if (units == 0 || units > kMaxCodeUnits || instructions == Addr{}) {
    return std::nullopt;
  }
  return memory_.bytes(instructions, static_cast<std::size_t>(units * kUnitBytes));
}

const AnalysedCode* CodeAnalysis::analyse(Addr code, Addr instructions) {
  const Layout& layout = memory_.layout();
  const auto [at, is_new] = known_.try_emplace({value_of(code), value_of(instructions)});
  if (!is_new) {
    return at->second.get();
  }
  const auto bytes = read_instructions(code, instructions);
  auto decoded = bytes ? decode_instructions(table_, *bytes) : std::nullopt;
  if (!decoded) {
    return nullptr;
  }
  at->second = std::make_unique<AnalysedCode>();
  at->second->instructions = *std::move(decoded);
  if (layout.code.exceptions != kAbsent) {
    const Addr table = memory_.pointer_or_null(code + layout.code.exceptions);
    at->second->handlers =
        read_exception_table(read_bytes(memory_, table).value_or(std::vector<std::byte>()));
  }
  at->second->calls = find_calls(table_, at->second->instructions, at->second->handlers);
  return at->second.get();
}

const AnalysedCode* CodeAnalysis::of_frame(const CodeObject& object, const RawFrame& frame) {
  const bool usable = frame.address != Addr{} && object.readable;
  return usable ? analyse(frame.code, first_instruction(object, frame)) : nullptr;
}

const AnalysedCode* CodeAnalysis::of_code(Addr code) {
  const std::uint32_t offset = memory_.layout().code.instructions;
  return code == Addr{} ? nullptr : analyse(code, offset == kAbsent ? Addr{} : code + offset);
}

CodePlace CodeAnalysis::find_place(const CodeObject& object, const RawFrame& frame) {
  const AnalysedCode* code = of_frame(object, frame);
  const std::uint32_t at = code == nullptr ? kNoInstruction : place_of(*code, object, frame);
  return at == kNoInstruction ? CodePlace() : CodePlace{code, at};
}

std::uint32_t CodeAnalysis::place_of(const AnalysedCode& code,
                                     const CodeObject& object,
                                     const RawFrame& frame) const {
  const std::int64_t offset = instruction_offset(memory_.layout(), object, frame);
  return offset < 0
             ? kNoInstruction
             : instruction_at(code.instructions, static_cast<std::uint64_t>(offset) / kUnitBytes);
}

}  // namespace oddrank::cpython
