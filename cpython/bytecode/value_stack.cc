#include "cpython/bytecode/value_stack.h"

#include "cpython/objects/types.h"

namespace oddrank::cpython {
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
