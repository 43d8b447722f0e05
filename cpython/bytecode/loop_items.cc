#include "cpython/bytecode/loop_items.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "cpython/bytecode/current_call.h"
#include "cpython/bytecode/loop_exits.h"
#include "cpython/bytecode/symbol_values.h"
#include "cpython/objects/iterators.h"
#include "cpython/objects/scalars.h"

namespace oddrank::cpython {
namespace {

constexpr int kMaxGenerators = 8;  // of one loop, beside and within each other

// Reads what the tests of a loop compare.
class TestReader {
 public:
  TestReader(PythonMemory& memory, const CodeCalls& calls, const RawFrame& frame)
      : memory_(memory), calls_(calls), values_(memory, calls, frame) {}

  // Returns how far the tested value is from being false, or the compared ones from each other.
  std::optional<LoopEnd> end(std::uint32_t symbol);

 private:
  struct Number {
    std::int64_t value = 0;
    bool of_items = false;  // a container has this number of items
  };

  std::optional<Number> number(std::uint32_t symbol);
  std::optional<Number> length(std::uint32_t symbol);

  PythonMemory& memory_;
  const CodeCalls& calls_;
  SymbolValues values_;
};

std::optional<TestReader::Number> TestReader::length(std::uint32_t symbol) {
  const auto items = length_of(memory_, values_.object_of(symbol));
  return items ? std::optional(Number{*items, true}) : std::nullopt;
}

std::optional<TestReader::Number> TestReader::number(std::uint32_t symbol) {
  const Symbol& one = calls_.symbols[symbol];
  if (one.kind == SymbolKind::kNumber) {
    return Number{one.index};
  }
  if (one.kind == SymbolKind::kResult) {
    const CodeCall& call = calls_.calls[one.index];
    const bool counts = calls_.symbols[call.callee].kind == SymbolKind::kGlobal &&
                        call.count == 1 && !call.arguments.empty() &&
                        values_.name_of(call.callee) == "len";
    return counts ? length(call.arguments.front()) : std::nullopt;
  }
  const Addr object = values_.object_of(symbol);
  const auto value = object == Addr{} ? std::nullopt : read_int(memory_, object);
  return value ? std::optional(Number{*value}) : std::nullopt;
}

std::optional<LoopEnd> TestReader::end(std::uint32_t symbol) {
  const Symbol& one = calls_.symbols[symbol];
  const bool compares = one.kind == SymbolKind::kCompared;
  auto first = number(compares ? one.base : symbol);
  if (!first && !compares) {
    first = length(symbol);
  }
  auto second = compares ? number(one.other) : std::optional(Number{});
  if (!first || !second) {
    return std::nullopt;
  }
  if (first->value < second->value) {
    std::swap(first, second);
  }
  constexpr std::int64_t kMaxNumber = std::numeric_limits<std::int64_t>::max() / 2;
  const bool fits = first->value <= kMaxNumber && second->value >= -kMaxNumber;
  const std::int64_t left = fits ? first->value - second->value : 0;
  return fits ? std::optional(LoopEnd{left, first->of_items && left > 0}) : std::nullopt;
}

}  // namespace

LoopItems::LoopItems(PythonMemory& memory, CodeAnalysis& analysis)
    : memory_(memory), analysis_(analysis) {}

std::optional<std::int64_t> LoopItems::left_of_generator(Addr generator) {
  const std::uint32_t offset = memory_.layout().code.instructions;
  const RawFrame frame =
      generators_++ < kMaxGenerators ? frame_of_generator(memory_, generator) : RawFrame();
  const AnalysedCode* code =
      frame.address == Addr{} || frame.code_copy != 0 ? nullptr : analysis_.of_code(frame.code);
  if (code == nullptr) {
    return std::nullopt;
  }
  CodeObject object;
  object.readable = true;
  object.instructions = offset == kAbsent ? Addr{} : frame.code + offset;
  const std::uint32_t at = analysis_.place_of(*code, object, frame);
  if (at == kNoInstruction) {
    return std::nullopt;
  }
  std::optional<std::int64_t> found;
  for (const CodeLoop& loop : find_loops(code->instructions, code->handlers, at)) {
    const auto one = found ? std::nullopt : end(*code, loop, frame);
    found = one ? std::optional(one->left) : found;
  }
  return found;
}

std::optional<std::int64_t> LoopItems::left_of_iterator(const AnalysedCode& code,
                                                        const CodeLoop& loop,
                                                        const RawFrame& frame) {
  const auto known = code.calls.iterators.find(loop.header);
  if (known == code.calls.iterators.end()) {
    return std::nullopt;
  }
  const auto of_generator = [this](Addr generator) { return left_of_generator(generator); };
  const Addr stack = value_stack(memory_, frame);
  const auto left =
      items_left(memory_, stack_value(memory_, stack, known->second - 1), of_generator);
  if (left) {
    return left;
  }
  // From 3.15 on there is another slot above an iterator; for a list or tuple itself, it has the
  // index of the next item.
  const Addr below = stack_value(memory_, stack, known->second - 2);
  const auto index = stack_number(memory_, stack, known->second - 1);
  return index ? items_behind(memory_, below, *index) : items_left(memory_, below, of_generator);
}

std::optional<LoopEnd> LoopItems::end(const AnalysedCode& code,
                                      const CodeLoop& loop,
                                      const RawFrame& frame) {
  if (loop.iterates) {
    const auto left = left_of_iterator(code, loop, frame);
    return left ? std::optional(LoopEnd{*left, *left > 0}) : std::nullopt;
  }
  TestReader reader(memory_, code.calls, frame);
  std::optional<LoopEnd> nearest;
  for (const auto& [branch, symbol] : code.calls.tests) {
    const auto one = leaves_loop(code, loop, branch) ? reader.end(symbol) : std::nullopt;
    nearest = one && (!nearest || one->left < nearest->left) ? one : nearest;
  }
  return nearest;
}

}  // namespace oddrank::cpython
