#include "cpython/bytecode/loops.h"

#include <algorithm>
#include <map>

namespace oddrank::cpython {
namespace {

constexpr std::size_t kMaxHeaders = 128;                 // loops of one code object
constexpr std::size_t kMaxSteps = std::size_t{1} << 20;  // of all walks
constexpr int kMaxPasses = 8;                            // loops within loops and handlers

bool falls_through(const DecodedInstruction& one) {
  return one.opcode.op != Op::kJump && one.opcode.op != Op::kEnd;
}

// Returns whether the instruction names the handler of the code that follows (up to 3.10).
bool begins_block(const DecodedInstruction& one) {
  return one.opcode.op == Op::kSetupFinally || one.opcode.op == Op::kSetupWith;
}

// Returns what an exception table would say about code up to 3.10, which has none: a `try` begins
// with an instruction that leads to its handlers, and its last part ends before them.
std::vector<HandlerRange> ranges_of_blocks(std::span<const DecodedInstruction> code) {
  std::vector<HandlerRange> ranges;
  for (std::size_t i = 0; i < code.size() && ranges.size() < kMaxHandlers; ++i) {
    if (!begins_block(code[i]) || code[i].target == kNoInstruction || code[i].target <= i) {
      continue;
    }
    std::uint32_t last = code[i].target;
    while (last > i + 1 && code[last].opcode.op != Op::kPopBlock) {
      --last;
    }
    const std::uint32_t handler = code[code[i].target].begin;
    ranges.push_back({code[i].end, last > i + 1 ? code[last].begin : handler, handler, 0, false});
  }
  return ranges;
}

// Follows the flow of control backwards.
class LoopFinder {
 public:
  LoopFinder(std::span<const DecodedInstruction> code, std::span<const HandlerRange> handlers);

  std::vector<CodeLoop> around(std::uint32_t at);

 private:
  // Returns the loop's instructions; empty if it is not a loop with one entry. `exceptions`: those
  // that lead back only by an exception, too.
  std::vector<std::uint32_t> body_of(std::uint32_t header,
                                     const std::vector<std::uint32_t>& jumps,
                                     bool exceptions);
  // Calls visit(index) for each instruction from which control comes to this one.
  template <typename Visit>
  void each_before(std::uint32_t at, bool exceptions, const Visit& visit);

  std::span<const DecodedInstruction> code_;
  std::vector<HandlerRange> handlers_;
  std::multimap<std::uint32_t, std::uint32_t> jumps_to_;     // by target
  std::multimap<std::uint32_t, std::size_t> handlers_from_;  // index of handler -> row
  std::size_t steps_ = 0;
};

LoopFinder::LoopFinder(std::span<const DecodedInstruction> code,
                       std::span<const HandlerRange> handlers)
    : code_(code), handlers_(handlers.begin(), handlers.end()) {
  if (handlers_.empty()) {
    handlers_ = ranges_of_blocks(code);
  }
  for (std::uint32_t i = 0; i < code.size(); ++i) {
    if (code[i].target != kNoInstruction && code[i].opcode.op != Op::kCallFinally) {
      jumps_to_.emplace(code[i].target, i);
    }
  }
  for (std::size_t row = 0; row < handlers_.size(); ++row) {
    const std::uint32_t handler = instruction_at(code, handlers_[row].handler);
    if (handler != kNoInstruction) {
      handlers_from_.emplace(handler, row);
    }
  }
}

template <typename Visit>
void LoopFinder::each_before(std::uint32_t at, bool exceptions, const Visit& visit) {
  if (at > 0 && falls_through(code_[at - 1])) {
    visit(at - 1);
  }
  const auto [first, last] = jumps_to_.equal_range(at);
  for (auto jump = first; jump != last; ++jump) {
    if (exceptions || !begins_block(code_[jump->second])) {
      visit(jump->second);
    }
  }
  if (!exceptions) {
    return;
  }
  const auto [from, to] = handlers_from_.equal_range(at);
  for (auto row = from; row != to; ++row) {
    const HandlerRange& range = handlers_[row->second];
    for (std::uint32_t i = instruction_at(code_, range.begin);
         i < code_.size() && code_[i].begin < range.end; ++i) {
      visit(i);
    }
  }
}

std::vector<std::uint32_t> LoopFinder::body_of(std::uint32_t header,
                                               const std::vector<std::uint32_t>& jumps,
                                               bool exceptions) {
  std::vector<bool> seen(code_.size(), false);
  std::vector<std::uint32_t> body = {header};
  seen[header] = true;
  const auto visit = [&](std::uint32_t index) {
    ++steps_;
    if (!seen[index]) {
      seen[index] = true;
      body.push_back(index);
    }
  };
  for (const std::uint32_t jump : jumps) {
    visit(jump);
  }
  for (std::size_t next = 1; next < body.size() && steps_ < kMaxSteps; ++next) {
    each_before(body[next], exceptions, visit);
  }
  if (steps_ >= kMaxSteps || (seen[0] && header != 0)) {
    return {};
  }
  std::sort(body.begin(), body.end());
  return body;
}

std::vector<CodeLoop> LoopFinder::around(std::uint32_t at) {
  std::map<std::uint32_t, std::vector<std::uint32_t>> headers;  // -> the jumps back to it
  for (std::uint32_t i = 0; i < code_.size() && headers.size() <= kMaxHeaders; ++i) {
    if (code_[i].target <= i && code_[code_[i].target].opcode.op != Op::kSend) {
      headers[code_[i].target].push_back(i);
    }
  }
  std::vector<CodeLoop> loops;
  if (headers.size() > kMaxHeaders) {
    return loops;
  }
  for (const auto& [header, jumps] : headers) {
    std::vector<std::uint32_t> body = body_of(header, jumps, true);
    if (std::binary_search(body.begin(), body.end(), at)) {
      loops.push_back({code_[header].opcode.op == Op::kForIter, header, std::move(body),
                       body_of(header, jumps, false)});
    }
  }
  std::stable_sort(loops.begin(), loops.end(), [](const CodeLoop& a, const CodeLoop& b) {
    return a.body.size() < b.body.size();
  });
  loops.resize(std::min(loops.size(), kMaxNestedLoops));
  return loops;
}

}  // namespace

std::vector<CodeLoop> find_loops(std::span<const DecodedInstruction> code,
                                 std::span<const HandlerRange> handlers,
                                 std::uint32_t at) {
  const bool any = std::any_of(code.begin(), code.end(), [&](const DecodedInstruction& one) {
    return one.target != kNoInstruction &&
           one.target <= static_cast<std::uint32_t>(&one - code.data());
  });
  return any ? LoopFinder(code, handlers).around(at) : std::vector<CodeLoop>();
}

bool goes_on_by_exceptions(std::span<const DecodedInstruction> code, const CodeLoop& loop) {
  const DecodedInstruction& header = code[loop.header];
  const auto turns = [&loop](std::uint32_t to) {
    return std::ranges::binary_search(loop.turning, to);
  };
  return !(falls_through(header) && turns(loop.header + 1)) &&
         (header.target == kNoInstruction || begins_block(header) || !turns(header.target));
}

std::vector<std::uint32_t> passed_before(std::span<const DecodedInstruction> code,
                                         std::span<const HandlerRange> handlers,
                                         std::span<const CodeLoop> loops,
                                         std::uint32_t at) {
  std::vector<std::uint32_t> passed;
  if (at >= code.size()) {
    return passed;
  }
  const std::vector<HandlerRange> of_blocks =
      handlers.empty() ? ranges_of_blocks(code) : std::vector<HandlerRange>();
  const std::span<const HandlerRange> tried = handlers.empty() ? of_blocks : handlers;
  const auto begins_turn = [loops](std::uint32_t from, std::uint32_t to) {
    return to <= from && std::ranges::any_of(loops, [&](const CodeLoop& loop) {
             return loop.header == to && std::ranges::binary_search(loop.body, from);
           });
  };
  std::vector<bool> leads(code.size(), false);  // to the instruction
  leads[at] = true;
  bool more = true;
  // Control mostly flows forwards; each pass follows one more jump back.
  for (int pass = 0; more && pass < kMaxPasses; ++pass) {
    more = false;
    const auto mark = [&](std::uint32_t from) {
      more = more || !leads[from];
      leads[from] = true;
    };
    for (const HandlerRange& range : tried) {
      const std::uint32_t handler = instruction_at(code, range.handler);
      std::uint32_t one = instruction_at(code, range.begin);
      for (; handler != kNoInstruction && leads[handler] && one < code.size() &&
             code[one].begin < range.end;
           ++one) {
        mark(one);
      }
    }
    for (auto from = static_cast<std::uint32_t>(code.size()); from-- > 0;) {
      const DecodedInstruction& one = code[from];
      const bool on = from + 1 < code.size() && falls_through(one) && leads[from + 1];
      const bool jumps = one.target != kNoInstruction && one.opcode.op != Op::kCallFinally &&
                         leads[one.target] && !begins_turn(from, one.target);
      if (on || jumps) {
        mark(from);
      }
    }
  }
  for (std::uint32_t i = 0; i < code.size(); ++i) {
    if (leads[i] && i != at) {
      passed.push_back(i);
    }
  }
  return passed;
}

bool is_always_passed(std::span<const DecodedInstruction> code,
                      std::span<const HandlerRange> handlers,
                      std::span<const CodeLoop> loops,
                      std::uint32_t through,
                      std::uint32_t at) {
  if (through >= code.size() || at >= code.size() || at == 0) {
    return false;
  }
  // If the code ended there, control would not come to `at` from its beginning.
  std::vector<DecodedInstruction> cut(code.begin(), code.end());
  cut[through].opcode.op = Op::kEnd;
  cut[through].target = kNoInstruction;
  return !std::ranges::binary_search(passed_before(cut, handlers, loops, at), 0U);
}

}  // namespace oddrank::cpython
