#include "cpython/bytecode/frame_loops.h"

#include <algorithm>
#include <set>
#include <utility>

#include "cpython/bytecode/loop_exits.h"
#include "cpython/bytecode/loop_items.h"
#include "cpython/bytecode/loops.h"
#include "cpython/bytecode/symbol_values.h"
#include "cpython/line_table.h"
#include "cpython/objects/strings.h"
#include "cpython/objects/types.h"

namespace oddrank::cpython {

namespace {

constexpr std::size_t kMaxInner = 8;  // calls that may replace their function; more do not

// Functions of Python's os module.
bool makes_its_second(std::string_view name) {
  return name == "link" || name == "symlink" || name == "rename" || name == "replace";
}

std::string qualified(const std::string& owner, const std::string& name) {
  return owner.empty() || name.empty() ? name : owner + "." + name;
}

class LoopReader {
 public:
  LoopReader(PythonMemory& memory, CodeAnalysis& analysis, const RawFrame& frame)
      : memory_(memory), analysis_(analysis), frame_(frame) {}

  FrameLoop read(const AnalysedCode& code, const CodeLoop& loop);

 private:
  void add(FrameLoop& into, FrameCall call);
  std::vector<std::string> variables_set(const AnalysedCode& code,
                                         const CodeLoop& loop,
                                         SymbolValues& values);
  std::string object_of(const CodeCall& call,
                        const std::string& name,
                        SymbolValues& values,
                        const CodeCalls& calls);
  // Returns the code of a function that the frame's file defines, or of a comprehension; null for
  // any other callee.
  Addr inner_code(const CodeCall& call, SymbolValues& values, const CodeCalls& calls);
  Addr method_of(Addr object, const std::string& name);
  Addr code_of_function(Addr function);
  bool is_same_file(Addr code);

  PythonMemory& memory_;
  CodeAnalysis& analysis_;
  RawFrame frame_;
};

void LoopReader::add(FrameLoop& into, FrameCall call) {
  if (std::find(into.calls.begin(), into.calls.end(), call) != into.calls.end()) {
    return;
  }
  if (into.calls.size() < kMaxCallsOfLoop) {
    into.calls.push_back(std::move(call));
  } else {
    into.cut = true;
  }
}

std::vector<std::string> LoopReader::variables_set(const AnalysedCode& code,
                                                   const CodeLoop& loop,
                                                   SymbolValues& values) {
  std::vector<std::string> names;
  for (const CodeStore& store : code.calls.stores) {
    if (!std::binary_search(loop.body.begin(), loop.body.end(), store.instruction)) {
      continue;
    }
    std::string name = values.name_of(store.variable);
    if (!name.empty() && names.size() < kMaxVariablesOfLoop &&
        std::find(names.begin(), names.end(), name) == names.end()) {
      names.push_back(std::move(name));
    }
  }
  return names;
}

std::string LoopReader::object_of(const CodeCall& call,
                                  const std::string& name,
                                  SymbolValues& values,
                                  const CodeCalls& calls) {
  // os.link(mine, lock) makes the second.
  const std::size_t first = makes_its_second(name) && call.arguments.size() > 1 ? 1 : 0;
  for (std::size_t i = first; i < call.arguments.size(); ++i) {
    if (std::string text = values.text_of(call.arguments[i]); !text.empty()) {
      return text;
    }
  }
  const Symbol& callee = calls.symbols[call.callee];
  // path.exists() acts on its path. A call of a text's method gets that text, but such a call polls
  // for nothing.
  return callee.kind == SymbolKind::kAttribute ? values.text_of(callee.base) : std::string();
}

bool LoopReader::is_same_file(Addr code) {
  const std::uint32_t offset = memory_.layout().code.filename;
  const Addr mine = memory_.pointer_or_null(frame_.code + offset);
  const Addr other = memory_.pointer_or_null(code + offset);
  if (mine == other) {
    return mine != Addr{};
  }
  const auto a = read_string(memory_, mine);
  const auto b = read_string(memory_, other);
  return a && b && a->utf8 == b->utf8;
}

Addr LoopReader::code_of_function(Addr function) {
  if (function == Addr{} || type_name(memory_, function) != "function") {
    return Addr{};
  }
  const Addr code = memory_.pointer_or_null(function + memory_.layout().object.function_code);
  return type_name(memory_, code) == "code" && is_same_file(code) ? code : Addr{};
}

// Searches only the object's own class: inherited methods are seldom in the same file.
Addr LoopReader::method_of(Addr object, const std::string& name) {
  const Addr type = type_of(memory_, object);
  return type == Addr{} || is_instance(memory_, object, TypeFlag::kStr)
             ? Addr{}
             : find_in_dict(memory_, dict_of_type(memory_, type), name);
}

Addr LoopReader::inner_code(const CodeCall& call, SymbolValues& values, const CodeCalls& calls) {
  const Symbol& callee = calls.symbols[call.callee];
  switch (callee.kind) {
    case SymbolKind::kFunction:
      return values.code_of(call.callee);
    case SymbolKind::kGlobal:
    case SymbolKind::kFast:
    case SymbolKind::kDeref:
      return code_of_function(values.object_of(call.callee));
    case SymbolKind::kAttribute: {
      const Addr object = values.object_of(callee.base);
      return object == Addr{} ? object
                              : code_of_function(method_of(object, values.name_of(call.callee)));
    }
    default:
      return Addr{};
  }
}

FrameLoop LoopReader::read(const AnalysedCode& code, const CodeLoop& loop) {
  FrameLoop result;
  const auto end = LoopItems(memory_, analysis_).end(code, loop, frame_);
  result.iterates = loop.iterates || (end && end->items);
  result.endless = !end && is_endless(code, loop);
  result.left = end ? std::optional(end->left) : std::nullopt;
  SymbolValues values(memory_, code.calls, frame_);
  result.sets = variables_set(code, loop, values);
  const std::vector<bool> may_end = calls_that_may_end(code, loop);
  for (std::size_t i = 0; i < code.calls.calls.size(); ++i) {
    const CodeCall& call = code.calls.calls[i];
    if (!std::binary_search(loop.body.begin(), loop.body.end(), call.instruction)) {
      continue;
    }
    if (result.cut) {
      break;
    }
    const bool ends =
        !loop.turning.empty() &&
        !std::binary_search(loop.turning.begin(), loop.turning.end(), call.instruction);
    const std::string name = values.name_of(call.callee);
    const std::string object = object_of(call, name, values, code.calls);
    const Addr inner = inner_code(call, values, code.calls);
    const AnalysedCode* nested = analysis_.of_code(inner);
    const std::size_t count = nested == nullptr ? 0 : nested->calls.calls.size();
    if (count == 0 || count > kMaxInner) {
      add(result, {qualified(values.owner_of(call.callee), name), object, ends, may_end[i]});
      continue;
    }
    // No frame runs it now, so its variables have no values here; a function of the same file
    // mostly has the same globals.
    SymbolValues inside(memory_, nested->calls, RawFrame{.code = inner}, values.globals());
    for (const CodeCall& one : nested->calls.calls) {
      const std::string inner_name = inside.name_of(one.callee);
      const std::string own = object_of(one, inner_name, inside, nested->calls);
      add(result, {qualified(inside.owner_of(one.callee), inner_name), own.empty() ? object : own,
                   ends, may_end[i]});
    }
  }
  return result;
}

}  // namespace

std::vector<FrameLoop> read_loops(PythonMemory& memory,
                                  CodeAnalysis& analysis,
                                  const CodeObject& object,
                                  const RawFrame& frame) {
  std::vector<FrameLoop> result;
  const auto [code, at] = analysis.find_place(object, frame);
  if (code == nullptr) {
    return result;
  }
  LoopReader reader(memory, analysis, frame);
  for (const CodeLoop& loop : find_loops(code->instructions, code->handlers, at)) {
    result.push_back(reader.read(*code, loop));
  }
  return result;
}

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
