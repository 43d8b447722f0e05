// Sources: Python/ceval.c and Python/bytecodes.c of 3.8 to 3.15 (CALL and its forms: a method is on
// the stack below its object, or a bound method below or above NULL); Include/cpython/classobject.h
// (PyMethodObject).
#include "cpython/bytecode/current_call.h"

#include <algorithm>

#include "cpython/bytecode/symbol_values.h"
#include "cpython/objects/types.h"

namespace oddrank::cpython {

namespace {

// Returns the object of a method, from the stack below the first argument.
Addr find_self(PythonMemory& memory, Addr stack, std::int64_t first_argument) {
  for (const std::int64_t below : {1, 2}) {
    const Addr value = stack_value(memory, stack, first_argument - below);
    if (value != Addr{} && type_name(memory, value) == "method") {
      return memory.pointer_or_null(value + memory.layout().object.head + kPointerSize);
    }
  }
  // An unbound method, and its object above it.
  const Addr method = stack_value(memory, stack, first_argument - 2);
  return method == Addr{} ? Addr{} : stack_value(memory, stack, first_argument - 1);
}

const CodeCall* call_at(const AnalysedCode& code, std::uint32_t at) {
  // 3.11 performs some calls one instruction early.
  const std::uint32_t instruction = code.instructions[at].opcode.op == Op::kPrecall ? at + 1 : at;
  const auto& calls = code.calls.calls;
  const auto found = std::find_if(calls.begin(), calls.end(), [instruction](const CodeCall& one) {
    return one.instruction == instruction;
  });
  return found == calls.end() ? nullptr : &*found;
}

}  // namespace

std::optional<CurrentCall> read_current_call(PythonMemory& memory,
                                             CodeAnalysis& analysis,
                                             const CodeObject& object,
                                             const RawFrame& frame) {
  const auto [code, at] = analysis.find_place(object, frame);
  const CodeCall* call = code == nullptr ? nullptr : call_at(*code, at);
  if (call == nullptr) {
    return std::nullopt;
  }
  SymbolValues values(memory, code->calls, frame);
  const Symbol& callee = code->calls.symbols[call->callee];
  const Addr stack = call->place < 0 ? Addr{} : value_stack(memory, frame);
  CurrentCall result;
  result.name = values.name_of(call->callee);
  if (callee.kind == SymbolKind::kAttribute) {
    result.self = find_self(memory, stack, call->place);
    if (result.self == Addr{}) {
      result.self = values.object_of(callee.base);
    }
  }
  for (std::size_t i = 0; i < call->arguments.size(); ++i) {
    const Addr there = stack_value(memory, stack, call->place + static_cast<std::int64_t>(i));
    result.arguments.push_back(there != Addr{} ? there : values.object_of(call->arguments[i]));
  }
  return result;
}

namespace {

constexpr std::uint64_t kMaxLocalSlots = 4096;

}  // namespace

Addr value_stack(PythonMemory& memory, const RawFrame& frame) {
  const Layout& layout = memory.layout();
  if (layout.frame.stack_base != kAbsent) {
    return memory.pointer_or_null(frame.address + layout.frame.stack_base);
  }
  const Addr names = memory.pointer_or_null(frame.code + layout.code.local_names);
  const auto count = memory.value<std::uint64_t>(names + layout.object.size);
  return count && *count <= kMaxLocalSlots
             ? frame.address + layout.frame.localsplus + *count * kPointerSize
             : Addr{};
}

Addr stack_value(PythonMemory& memory, Addr stack, std::int64_t place) {
  return stack == Addr{} || place < 0
             ? Addr{}
             : without_tags(memory.layout(),
                            memory.pointer_or_null(stack + static_cast<std::uint64_t>(place) *
                                                               kPointerSize));
}

// Source: Include/internal/pycore_stackref.h (PyStackRef_TagInt).
std::optional<std::int64_t> stack_number(PythonMemory& memory, Addr stack, std::int64_t place) {
  constexpr std::uint64_t kNumberTag = 3;
  constexpr int kTagBits = 2;
  const std::uint64_t value =
      stack == Addr{} || place < 0 || memory.layout().semantics.reference_tags == 0
          ? 0
          : value_of(
                memory.pointer_or_null(stack + static_cast<std::uint64_t>(place) * kPointerSize));
  return (value & kNumberTag) == kNumberTag
             ? std::optional(static_cast<std::int64_t>(value) >> kTagBits)
             : std::nullopt;
}

}  // namespace oddrank::cpython
