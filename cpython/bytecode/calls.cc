#include "cpython/bytecode/calls.h"

#include <algorithm>
#include <bit>
#include <map>
#include <utility>

namespace oddrank::cpython {
namespace {

constexpr std::size_t kMaxDepth = 128;    // of the stack; people write no deeper expressions
constexpr std::size_t kMaxStates = 4096;  // of jumps whose targets are still ahead
constexpr std::uint32_t kNothing = 0;     // the symbol that is unknown

struct SymbolStack {
  std::vector<std::uint32_t> values;
  bool known = true;  // false: how many values are below is not known
};

class CallFinder {
 public:
  CallFinder(const Instructions& table,
             std::span<const DecodedInstruction> code,
             std::span<const HandlerRange> handlers)
      : table_(table), code_(code), handlers_(handlers) {}

  CodeCalls run();

 private:
  std::uint32_t make(SymbolKind kind, std::uint32_t index, std::uint32_t base = kNothing);
  void push(std::uint32_t symbol);
  void push_unknown(std::size_t count);
  std::uint32_t pop();
  void drop(std::size_t count);
  void add(int effect);
  // Returns the value `from_top` values below the top; unknown if there is none.
  std::uint32_t peek(std::size_t from_top) const;

  void arrive(std::uint32_t index);
  void enter_ranges(std::uint32_t unit);
  void remember(std::uint32_t index, SymbolStack state);
  static SymbolStack merged(SymbolStack a, const SymbolStack& b);

  void step(std::uint32_t index);
  bool load(const DecodedInstruction& one);
  bool load_named(const DecodedInstruction& one);
  bool call(std::uint32_t index);
  bool build(const DecodedInstruction& one);
  bool move(const DecodedInstruction& one);
  void take_call(std::uint32_t index, std::size_t arguments, std::size_t above, std::size_t below);
  void call_unpacked(std::uint32_t index);
  void branch(const DecodedInstruction& one);
  void put_method(std::uint32_t method);
  void make_function(std::uint32_t flags);
  bool bare() const { return table_.calls == CallShape::kBare; }

  const Instructions& table_;
  std::span<const DecodedInstruction> code_;
  std::span<const HandlerRange> handlers_;
  std::size_t next_range_ = 0;
  SymbolStack stack_;
  bool reached_ = true;  // control falls into the next instruction
  std::map<std::uint32_t, SymbolStack> ahead_;
  CodeCalls result_;
};

std::uint32_t CallFinder::make(SymbolKind kind, std::uint32_t index, std::uint32_t base) {
  result_.symbols.push_back({kind, index, base});
  return static_cast<std::uint32_t>(result_.symbols.size() - 1);
}

void CallFinder::push(std::uint32_t symbol) {
  if (stack_.values.size() >= kMaxDepth) {
    stack_ = {{}, false};
  }
  stack_.values.push_back(symbol);
}

void CallFinder::push_unknown(std::size_t count) {
  for (std::size_t i = 0; i < std::min(count, kMaxDepth); ++i) {
    push(kNothing);
  }
}

std::uint32_t CallFinder::pop() {
  if (stack_.values.empty()) {
    stack_.known = false;
    return kNothing;
  }
  const std::uint32_t top = stack_.values.back();
  stack_.values.pop_back();
  return top;
}

void CallFinder::drop(std::size_t count) {
  for (std::size_t i = 0; i < std::min(count, kMaxDepth); ++i) {
    pop();
  }
  stack_.known = stack_.known && count <= kMaxDepth;
}

void CallFinder::add(int effect) {
  if (effect > 0) {
    push_unknown(static_cast<std::size_t>(effect));
  } else {
    drop(static_cast<std::size_t>(-effect));
  }
}

std::uint32_t CallFinder::peek(std::size_t from_top) const {
  const std::size_t size = stack_.values.size();
  return from_top < size ? stack_.values[size - 1 - from_top] : kNothing;
}

SymbolStack CallFinder::merged(SymbolStack a, const SymbolStack& b) {
  if (a.values.size() != b.values.size()) {
    return {{}, false};
  }
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    a.values[i] = a.values[i] == b.values[i] ? a.values[i] : kNothing;
  }
  a.known = a.known && b.known;
  return a;
}

void CallFinder::remember(std::uint32_t index, SymbolStack state) {
  const auto known = ahead_.find(index);
  if (known != ahead_.end()) {
    known->second = merged(std::move(known->second), state);
  } else if (ahead_.size() < kMaxStates) {
    ahead_.emplace(index, std::move(state));
  }
}

// Sets the stack for an instruction: from the one before, from jumps to it, or from both.
void CallFinder::arrive(std::uint32_t index) {
  const auto known = ahead_.find(index);
  if (known != ahead_.end()) {
    stack_ = reached_ ? merged(std::move(stack_), known->second) : std::move(known->second);
    ahead_.erase(known);
  } else if (!reached_) {
    stack_ = {{}, false};
  }
  enter_ranges(code_[index].begin);
}

// Says what the handlers of ranges that begin here find on the stack. The table is sorted.
void CallFinder::enter_ranges(std::uint32_t unit) {
  for (; next_range_ < handlers_.size() && handlers_[next_range_].begin <= unit; ++next_range_) {
    const HandlerRange& range = handlers_[next_range_];
    const std::uint32_t handler = instruction_at(code_, range.handler);
    if (range.begin != unit || handler == kNoInstruction || code_[handler].begin < unit ||
        range.depth > kMaxDepth) {
      continue;
    }
    SymbolStack state = stack_;
    state.values.resize(range.depth, kNothing);
    state.values.resize(range.depth + (range.pushes_instruction ? 2 : 1), kNothing);
    state.known = true;
    remember(handler, std::move(state));
  }
}

void CallFinder::put_method(std::uint32_t method) {
  push(method);
  push_unknown(1);  // its object, or nothing
}

bool CallFinder::load(const DecodedInstruction& one) {
  constexpr std::uint32_t kLow = 15;
  switch (one.opcode.op) {
    case Op::kLoadFast:
      push(make(SymbolKind::kFast, one.argument));
      return true;
    case Op::kLoadTwoFast:
      push(make(SymbolKind::kFast, one.argument >> 4));
      push(make(SymbolKind::kFast, one.argument & kLow));
      return true;
    case Op::kStoreLoadFast:
      pop();
      push(make(SymbolKind::kFast, one.argument & kLow));
      return true;
    case Op::kLoadDerefOf:
      pop();
      push(make(SymbolKind::kDeref, one.argument));
      return true;
    case Op::kLoadDeref:
      push(make(SymbolKind::kDeref, one.argument));
      return true;
    case Op::kLoadConst:
      push(make(SymbolKind::kConstant, one.argument));
      return true;
    default:
      return load_named(one);
  }
}

bool CallFinder::load_named(const DecodedInstruction& one) {
  // If the effect depends on the argument, its lowest bit asks for the form that a call needs.
  const bool flagged = one.opcode.by_argument;
  const bool for_call = flagged && (one.argument & 1) != 0;
  const std::uint32_t index = flagged ? one.argument >> 1 : one.argument;
  switch (one.opcode.op) {
    case Op::kLoadNameOf:
      pop();
      push(make(SymbolKind::kGlobal, one.argument));
      return true;
    case Op::kLoadName:
      push(make(SymbolKind::kGlobal, one.argument));
      return true;
    case Op::kLoadGlobal: {
      const bool null_first = table_.calls == CallShape::kNullFirst;
      push_unknown(for_call && null_first ? 1 : 0);
      push(make(SymbolKind::kGlobal, index));
      push_unknown(for_call && !null_first ? 1 : 0);
      return true;
    }
    case Op::kLoadAttr:
    case Op::kLoadMethod: {
      const std::uint32_t attribute = make(SymbolKind::kAttribute, index, pop());
      if (for_call || one.opcode.op == Op::kLoadMethod) {
        put_method(attribute);
      } else {
        push(attribute);
      }
      return true;
    }
    case Op::kLoadSuper: {
      drop(2);
      const std::uint32_t attribute = make(SymbolKind::kAttribute, one.argument >> 2, pop());
      if ((one.argument & 1) != 0) {
        put_method(attribute);
      } else {
        push(attribute);
      }
      return true;
    }
    case Op::kLoadSpecial:
      pop();
      put_method(make(SymbolKind::kImplicit, 0));
      return true;
    default:
      return false;
  }
}

// Notes a call whose arguments have `above` values on top and up to `below` values beneath of which
// one is what is called; puts its result in place of all.
void CallFinder::take_call(std::uint32_t index,
                           std::size_t arguments,
                           std::size_t above,
                           std::size_t below) {
  CodeCall call;
  call.instruction = index;
  const std::size_t size = stack_.values.size();
  for (std::size_t i = 0; i < std::min(arguments, kMaxCallArguments); ++i) {
    call.arguments.push_back(peek(above + arguments - 1 - i));
  }
  for (std::size_t i = below; i > 0 && call.callee == kNothing; --i) {
    call.callee = peek(above + arguments + i - 1);
  }
  const std::size_t taken = above + arguments + below;
  if (stack_.known && taken <= size && !table_.loose_depth) {
    call.place = static_cast<std::int32_t>(size - above - arguments);
  }
  if (result_.symbols[call.callee].kind != SymbolKind::kImplicit) {
    result_.calls.push_back(std::move(call));
  }
  drop(taken);
  push_unknown(1);
}

// f(*arguments, **names): what is unpacked is not known.
void CallFinder::call_unpacked(std::uint32_t index) {
  const bool always = table_.calls == CallShape::kAlwaysNamed;
  const bool named = always || (code_[index].argument & 1) != 0;
  take_call(index, 0, named ? 2 : 1, bare() ? 1 : 2);
}

bool CallFinder::call(std::uint32_t index) {
  const std::size_t count = code_[index].argument;
  switch (code_[index].opcode.op) {
    case Op::kCallFunction:
      take_call(index, count, 0, 1);
      return true;
    case Op::kCallNames:
      take_call(index, count, 1, 1);
      return true;
    case Op::kCallMethod:
    case Op::kCall:
      take_call(index, count, 0, 2);
      return true;
    case Op::kCallKw:
      take_call(index, count, 1, 2);
      return true;
    case Op::kCallUnpack:
      call_unpacked(index);
      return true;
    case Op::kPrecall:
      return true;
    case Op::kMakeFunction:
      make_function(code_[index].argument);
      return true;
    case Op::kAddToFunction: {
      const std::uint32_t function = pop();
      pop();
      push(function);
      return true;
    }
    default:
      return false;
  }
}

void CallFinder::make_function(std::uint32_t flags) {
  constexpr std::uint32_t kParts = 15;  // defaults, annotations, cells: one value for each bit
  if (bare()) {
    pop();  // its name
  }
  const Symbol code = result_.symbols[pop()];
  const bool parts_follow = table_.calls == CallShape::kNullSecond ||
                            table_.calls == CallShape::kAlwaysNamed;  // kAddToFunction has them
  drop(parts_follow ? 0 : static_cast<std::size_t>(std::popcount(flags & kParts)));
  push(code.kind == SymbolKind::kConstant ? make(SymbolKind::kFunction, code.index) : kNothing);
}

bool CallFinder::build(const DecodedInstruction& one) {
  const std::size_t count = one.argument;
  constexpr std::uint32_t kWithFormat = 4;
  switch (one.opcode.op) {
    case Op::kBuildList: {
      const std::uint32_t first = count > 0 ? peek(count - 1) : kNothing;
      drop(count);
      push(first == kNothing ? kNothing : make(SymbolKind::kFirstOf, 0, first));
      return true;
    }
    case Op::kBuild:
      drop(count);
      push_unknown(1);
      return true;
    case Op::kBuildMap:
      drop(2 * count);
      push_unknown(1);
      return true;
    case Op::kBuildConstMap:
      drop(count + 1);
      push_unknown(1);
      return true;
    case Op::kExtendList: {
      // [constant, ...] of three or more: an empty list and a tuple that it is extended by.
      const std::uint32_t items = pop();
      const bool fresh = peek(one.argument - 1) == kNothing && one.argument == 1;
      if (fresh && result_.symbols[items].kind == SymbolKind::kConstant) {
        pop();
        push(items);
      }
      return true;
    }
    case Op::kFormat:
      drop((one.argument & kWithFormat) != 0 ? 2 : 1);
      push_unknown(1);
      return true;
    case Op::kInterpolate:
      drop((one.argument & 1) != 0 ? 3 : 2);
      push_unknown(1);
      return true;
    case Op::kUnpack:
      pop();
      push_unknown(count);
      return true;
    case Op::kUnpackRest:
      pop();
      push_unknown((count & 0xff) + (count >> 8) + 1);
      return true;
    default:
      return false;
  }
}

bool CallFinder::move(const DecodedInstruction& one) {
  std::vector<std::uint32_t>& values = stack_.values;
  const std::size_t count = one.argument;
  const auto swap_with = [&](std::size_t depth) {
    if (depth == 0 || depth > values.size()) {
      stack_ = {{}, false};
    } else {
      std::swap(values.back(), values[values.size() - depth]);
    }
  };
  switch (one.opcode.op) {
    case Op::kCopy:
      push(count > 0 ? peek(count - 1) : kNothing);
      return true;
    case Op::kCopyTop: {
      const std::size_t copies = one.opcode.count;
      for (std::size_t i = 0; i < copies; ++i) {
        push(peek(copies - 1));
      }
      return true;
    }
    case Op::kSwap:
      swap_with(count);
      return true;
    case Op::kSwapTwo:
      swap_with(2);
      return true;
    case Op::kRotate:
    case Op::kRotateMany: {
      const std::size_t moved = one.opcode.op == Op::kRotate ? one.opcode.count : count;
      std::fill(values.end() - static_cast<std::ptrdiff_t>(std::min(moved, values.size())),
                values.end(), kNothing);
      return true;
    }
    default:
      return false;
  }
}

void CallFinder::branch(const DecodedInstruction& one) {
  constexpr int kException = 6;  // values that a handler finds, up to 3.10
  SymbolStack before = stack_;
  if (one.opcode.op == Op::kSetupWith) {
    pop();
    push(make(SymbolKind::kImplicit, 0));
    before = stack_;
    push_unknown(1);
    std::swap(stack_, before);
    add(kException);
  } else {
    add(one.opcode.jump_effect);
  }
  SymbolStack jumped = std::exchange(stack_, std::move(before));
  if (one.opcode.op != Op::kSetupWith) {
    add(one.opcode.effect);
  }
  if (one.target != kNoInstruction && code_[one.target].begin >= one.end) {
    remember(one.target, std::move(jumped));
  }
}

void CallFinder::step(std::uint32_t index) {
  const DecodedInstruction& one = code_[index];
  reached_ = true;
  switch (one.opcode.op) {
    case Op::kEnd:
      reached_ = false;
      return;
    case Op::kJump:
    case Op::kBranch:
    case Op::kForIter:
    case Op::kSend:
    case Op::kSetupWith:
    case Op::kSetupFinally:
    case Op::kCallFinally:
      branch(one);
      reached_ = one.opcode.op != Op::kJump;
      return;
    case Op::kStartGenerator:
      // The value that starts a generator counts as pushed here, and by its GEN_START as popped.
      add(one.opcode.effect < 0 ? 0 : 1);
      return;
    case Op::kEnterWith:
      pop();
      push(make(SymbolKind::kImplicit, 0));
      push_unknown(1);
      return;
    case Op::kDrop:
    case Op::kPopBlock:
      add(one.opcode.effect);
      return;
    default:
      break;
  }
  if (load(one) || call(index) || build(one) || move(one)) {
    return;
  }
  const int effect = one.opcode.effect;
  if (effect > 0) {
    add(effect);
  } else {
    // It computes one value from others.
    drop(static_cast<std::size_t>(1 - effect));
    push_unknown(1);
  }
}

CodeCalls CallFinder::run() {
  for (std::uint32_t index = 0; index < code_.size(); ++index) {
    arrive(index);
    step(index);
  }
  return std::move(result_);
}

}  // namespace

CodeCalls find_calls(const Instructions& table,
                     std::span<const DecodedInstruction> code,
                     std::span<const HandlerRange> handlers) {
  return CallFinder(table, code, handlers).run();
}

}  // namespace oddrank::cpython
