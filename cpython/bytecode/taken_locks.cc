#include "cpython/bytecode/taken_locks.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "cpython/bytecode/loops.h"
#include "cpython/bytecode/symbol_values.h"

namespace oddrank::cpython {
namespace {

constexpr std::size_t kMaxLockCalls = 16;  // of one frame, of either method

// A call of a method of `object`.
struct LockCall {
  std::uint32_t instruction = 0;
  Addr object{};
};

// Returns the calls `object.method()`; none if there are more than real code has.
std::vector<LockCall> calls_of(const CodeCalls& calls,
                               std::string_view method,
                               SymbolValues& values) {
  std::vector<LockCall> found;
  for (const CodeCall& call : calls.calls) {
    const Symbol& callee = calls.symbols[call.callee];
    if (callee.kind != SymbolKind::kAttribute || call.count > 0 ||
        values.name_of(callee) != method) {
      continue;
    }
    if (found.size() == kMaxLockCalls) {
      return {};
    }
    if (const Addr object = values.object_of(callee.base); object != Addr{}) {
      found.push_back({call.instruction, object});
    }
  }
  return found;
}

}  // namespace

std::vector<Addr> read_taken(PythonMemory& memory,
                             CodeAnalysis& analysis,
                             const CodeObject& object,
                             const RawFrame& frame) {
  const CodePlace found = analysis.find_place(object, frame);
  if (found.code == nullptr) {
    return {};
  }
  const AnalysedCode& code = *found.code;
  SymbolValues values(memory, code.calls, frame);
  const auto takes = calls_of(code.calls, "acquire", values);
  const auto gives = takes.empty() ? takes : calls_of(code.calls, "release", values);
  if (gives.empty()) {
    return {};
  }
  const auto loops = find_loops(code.instructions, code.handlers, found.at);
  const auto before = [&](std::uint32_t at) {
    return passed_before(code.instructions, code.handlers, loops, at);
  };
  const auto behind = before(found.at);
  const auto is_behind = [&behind](const LockCall& call) {
    return std::ranges::binary_search(behind, call.instruction);
  };
  // 3.11 performs some calls one instruction early.
  const bool early = code.instructions[found.at].opcode.op == Op::kPrecall;
  const std::uint32_t now = early ? found.at + 1 : found.at;
  std::vector<Addr> taken;
  for (const LockCall& take : takes) {
    const auto is_now = [&](const LockCall& call) {
      return call.object == take.object && call.instruction == now;
    };
    const bool later = std::ranges::any_of(gives, [&](const LockCall& give) {
      return give.object == take.object && !is_behind(give);
    });
    const bool given = std::ranges::any_of(gives, [&](const LockCall& give) {
      return give.object == take.object && is_behind(give) &&
             std::ranges::binary_search(before(give.instruction), take.instruction);
    });
    if (later && !given && is_behind(take) && std::ranges::none_of(takes, is_now) &&
        std::ranges::none_of(gives, is_now) &&
        is_always_passed(code.instructions, code.handlers, loops, take.instruction, found.at)) {
      taken.push_back(take.object);
    }
  }
  return taken;
}

}  // namespace oddrank::cpython
