#include "cpython/bytecode/frame_place.h"

#include <algorithm>
#include <set>

#include "cpython/bytecode/loop_items.h"
#include "cpython/bytecode/loops.h"
#include "cpython/line_table.h"

namespace oddrank::cpython {
namespace {

constexpr std::size_t kMaxCallsBehind = 256;  // of one frame

std::vector<LineRange> ranges_of(const std::set<std::uint32_t>& lines) {
  std::vector<LineRange> ranges;
  for (const std::uint32_t line : lines) {
    if (!ranges.empty() && ranges.back().last + 1 == line) {
      ranges.back().last = line;
    } else {
      ranges.push_back({line, line});
    }
  }
  return ranges;
}

}  // namespace

std::optional<FramePlace> read_place(PythonMemory& memory,
                                     CodeAnalysis& analysis,
                                     const CodeObject& object,
                                     const RawFrame& frame) {
  const CodePlace found = analysis.find_place(object, frame);
  if (found.code == nullptr) {
    return std::nullopt;
  }
  const AnalysedCode& code = *found.code;
  constexpr std::int64_t kUnit = 2;  // bytes
  const auto line_at = [&](std::uint32_t instruction) {
    return line_of(memory.layout().semantics.lines, object.line_table, object.first_line,
                   code.instructions[instruction].begin * kUnit);
  };
  const auto loops = find_loops(code.instructions, code.handlers, found.at);
  const auto behind = passed_before(code.instructions, code.handlers, loops, found.at);
  std::set<std::uint32_t> lines;
  std::size_t calls = 0;
  for (const CodeCall& call : code.calls.calls) {
    if (std::ranges::binary_search(behind, call.instruction)) {
      if (++calls > kMaxCallsBehind) {
        return std::nullopt;
      }
      lines.insert(line_at(call.instruction));
    }
  }
  lines.erase(line_at(found.at));
  lines.erase(0);
  FramePlace place{{}, ranges_of(lines)};
  if (place.passed.size() > kMaxPassedLines) {
    return std::nullopt;
  }
  for (const CodeLoop& loop : loops) {
    const auto end = LoopItems(memory, analysis).end(code, loop, frame);
    place.turns.push_back({line_at(loop.header), end ? end->left : -1,
                           goes_on_by_exceptions(code.instructions, loop)});
  }
  std::ranges::reverse(place.turns);
  return place;
}

}  // namespace oddrank::cpython
