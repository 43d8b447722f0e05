#include "cpython/bytecode/calls.h"

#include <algorithm>
#include <bit>
#include <map>
#include <utility>

#include "cpython/bytecode/symbol_values.h"

namespace oddrank::cpython {
namespace {

constexpr std::size_t kMaxStates = 4096;  // of jumps whose targets are still ahead
constexpr std::uint32_t kNothing = kUnknownSymbol;

constexpr std::uint32_t kLowFast = 15;  // where an instruction has two variables

// Arguments of BINARY_OP (opcode.h of 3.11 to 3.15).
constexpr std::uint32_t kBinaryAdd = 0;
constexpr std::uint32_t kBinaryDivide = 11;
constexpr std::uint32_t kInplaceAdd = 13;
constexpr std::uint32_t kInplaceDivide = 24;

class CallFinder {
 public:
  CallFinder(const Instructions& table,
             std::span<const DecodedInstruction> code,
             std::span<const HandlerRange> handlers)
      : table_(table), code_(code), handlers_(handlers) {}

  CodeCalls run();

 private:
  std::uint32_t make(SymbolKind kind,
                     std::uint32_t index,
                     std::uint32_t base = kNothing,
                     std::uint32_t other = kNothing);
  void arrive(std::uint32_t index);
  void enter_ranges(std::uint32_t unit);
  void remember(std::uint32_t index, SymbolStack state);

  void step(std::uint32_t index);
  bool load(const DecodedInstruction& one);
  bool load_named(const DecodedInstruction& one);
  bool call(std::uint32_t index);
  bool build(const DecodedInstruction& one);
  bool compose(const DecodedInstruction& one);
  void compose_two(SymbolKind kind);
  std::uint32_t join(SymbolKind kind, std::uint32_t left, std::uint32_t right);
  bool move(const DecodedInstruction& one);
  bool store(std::uint32_t index);
  void compute(int effect);
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

std::uint32_t CallFinder::make(SymbolKind kind,
                               std::uint32_t index,
                               std::uint32_t base,
                               std::uint32_t other) {
  result_.symbols.push_back({kind, index, base, other});
  return static_cast<std::uint32_t>(result_.symbols.size() - 1);
}

void CallFinder::remember(std::uint32_t index, SymbolStack state) {
  const auto known = ahead_.find(index);
  if (known != ahead_.end()) {
    known->second.merge(state);
  } else if (ahead_.size() < kMaxStates) {
    ahead_.emplace(index, std::move(state));
  }
}

// Sets the stack before an instruction: from the previous one, from jumps to it, or from both.
void CallFinder::arrive(std::uint32_t index) {
  const auto known = ahead_.find(index);
  if (known != ahead_.end()) {
    if (reached_) {
      stack_.merge(known->second);
    } else {
      stack_ = std::move(known->second);
    }
    ahead_.erase(known);
  } else if (!reached_) {
    stack_.forget();
  }
  enter_ranges(code_[index].begin);
}

// Records the stack that handlers of ranges beginning here find. The table is sorted.
void CallFinder::enter_ranges(std::uint32_t unit) {
  for (; next_range_ < handlers_.size() && handlers_[next_range_].begin <= unit; ++next_range_) {
    const HandlerRange& range = handlers_[next_range_];
    const std::uint32_t handler = instruction_at(code_, range.handler);
    if (range.begin != unit || handler == kNoInstruction || code_[handler].begin < unit ||
        range.depth > kMaxStackSymbols) {
      continue;
    }
    SymbolStack state = stack_;
    state.cut_to(range.depth, range.pushes_instruction ? 2 : 1);
    remember(handler, std::move(state));
  }
}

void CallFinder::put_method(std::uint32_t method) {
  stack_.push(method);
  stack_.push_unknown(1);  // its object, or nothing
}

bool CallFinder::load(const DecodedInstruction& one) {
  switch (one.opcode.op) {
    case Op::kLoadFast:
      stack_.push(make(SymbolKind::kFast, one.argument));
      return true;
    case Op::kLoadTwoFast:
      stack_.push(make(SymbolKind::kFast, one.argument >> 4));
      stack_.push(make(SymbolKind::kFast, one.argument & kLowFast));
      return true;
    case Op::kLoadDerefOf:
      stack_.pop();
      stack_.push(make(SymbolKind::kDeref, one.argument));
      return true;
    case Op::kLoadDeref:
      stack_.push(make(SymbolKind::kDeref, one.argument));
      return true;
    case Op::kLoadConst:
      stack_.push(make(SymbolKind::kConstant, one.argument));
      return true;
    case Op::kLoadNumber:
      stack_.push(make(SymbolKind::kNumber, one.argument));
      return true;
    default:
      return load_named(one);
  }
}

bool CallFinder::load_named(const DecodedInstruction& one) {
  // If the effect depends on the argument, its lowest bit selects the form that a call needs.
  const bool flagged = one.opcode.by_argument;
  const bool for_call = flagged && (one.argument & 1) != 0;
  const std::uint32_t index = flagged ? one.argument >> 1 : one.argument;
  switch (one.opcode.op) {
    case Op::kLoadNameOf:
      stack_.pop();
      stack_.push(make(SymbolKind::kGlobal, one.argument));
      return true;
    case Op::kLoadName:
      stack_.push(make(SymbolKind::kGlobal, one.argument));
      return true;
    case Op::kLoadGlobal: {
      const bool null_first = table_.calls == CallShape::kNullFirst;
      stack_.push_unknown(for_call && null_first ? 1 : 0);
      stack_.push(make(SymbolKind::kGlobal, index));
      stack_.push_unknown(for_call && !null_first ? 1 : 0);
      return true;
    }
    case Op::kLoadAttr:
    case Op::kLoadMethod: {
      const std::uint32_t attribute = make(SymbolKind::kAttribute, index, stack_.pop());
      if (for_call || one.opcode.op == Op::kLoadMethod) {
        put_method(attribute);
      } else {
        stack_.push(attribute);
      }
      return true;
    }
    case Op::kLoadSuper: {
      stack_.drop(2);
      const std::uint32_t attribute = make(SymbolKind::kAttribute, one.argument >> 2, stack_.pop());
      if ((one.argument & 1) != 0) {
        put_method(attribute);
      } else {
        stack_.push(attribute);
      }
      return true;
    }
    case Op::kExitWith:
      stack_.push(make(SymbolKind::kImplicit, 0));
      return true;
    case Op::kLoadSpecial:
      stack_.pop();
      put_method(make(SymbolKind::kImplicit, 0));
      return true;
    default:
      return false;
  }
}

// Records a call. `above` values lie on top of its arguments, and up to `below` values beneath
// them, one of which is the callee. Replaces them all by the result.
void CallFinder::take_call(std::uint32_t index,
                           std::size_t arguments,
                           std::size_t above,
                           std::size_t below) {
  CodeCall call;
  call.instruction = index;
  for (std::size_t i = 0; i < std::min(arguments, kMaxCallArguments); ++i) {
    call.arguments.push_back(stack_.peek(above + arguments - 1 - i));
  }
  for (std::size_t i = below; i > 0 && call.callee == kNothing; --i) {
    call.callee = stack_.peek(above + arguments + i - 1);
  }
  const std::size_t taken = above + arguments + below;
  if (stack_.depth_is_known() && taken <= stack_.size() && !table_.loose_depth) {
    call.place = static_cast<std::int32_t>(stack_.size() - above - arguments);
  }
  stack_.drop(taken);
  if (result_.symbols[call.callee].kind == SymbolKind::kImplicit) {
    stack_.push_unknown(1);
    return;
  }
  call.count = static_cast<std::uint32_t>(arguments);
  stack_.push(make(SymbolKind::kResult, static_cast<std::uint32_t>(result_.calls.size())));
  result_.calls.push_back(std::move(call));
}

// f(*arguments, **names): the unpacked values are unknown.
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
      const std::uint32_t function = stack_.pop();
      stack_.pop();
      stack_.push(function);
      return true;
    }
    default:
      return false;
  }
}

void CallFinder::make_function(std::uint32_t flags) {
  constexpr std::uint32_t kParts = 15;  // defaults, annotations, cells: one value for each bit
  if (bare()) {
    stack_.pop();  // its name
  }
  const Symbol code = result_.symbols[stack_.pop()];
  const bool parts_follow = table_.calls == CallShape::kNullSecond ||
                            table_.calls == CallShape::kAlwaysNamed;  // kAddToFunction has them
  stack_.drop(parts_follow ? 0 : static_cast<std::size_t>(std::popcount(flags & kParts)));
  stack_.push(code.kind == SymbolKind::kConstant ? make(SymbolKind::kFunction, code.index)
                                                 : kNothing);
}

bool CallFinder::build(const DecodedInstruction& one) {
  const std::size_t count = one.argument;
  switch (one.opcode.op) {
    case Op::kBuildList: {
      const std::uint32_t first = count > 0 ? stack_.peek(count - 1) : kNothing;
      stack_.drop(count);
      stack_.push(first == kNothing ? kNothing : make(SymbolKind::kFirstOf, 0, first));
      return true;
    }
    case Op::kBuild:
      stack_.drop(count);
      stack_.push_unknown(1);
      return true;
    case Op::kBuildMap:
      stack_.drop(2 * count);
      stack_.push_unknown(1);
      return true;
    case Op::kBuildConstMap:
      stack_.drop(count + 1);
      stack_.push_unknown(1);
      return true;
    case Op::kExtendList: {
      // [constant, ...] of three or more: an empty list, extended by a tuple.
      const std::uint32_t items = stack_.pop();
      const bool fresh = stack_.peek(one.argument - 1) == kNothing && one.argument == 1;
      if (fresh && result_.symbols[items].kind == SymbolKind::kConstant) {
        stack_.pop();
        stack_.push(items);
      }
      return true;
    }
    case Op::kInterpolate:
      stack_.drop((one.argument & 1) != 0 ? 3 : 2);
      stack_.push_unknown(1);
      return true;
    case Op::kUnpack:
      stack_.pop();
      stack_.push_unknown(count);
      return true;
    case Op::kUnpackRest:
      stack_.pop();
      stack_.push_unknown((count & 0xff) + (count >> 8) + 1);
      return true;
    default:
      return compose(one);
  }
}

std::uint32_t CallFinder::join(SymbolKind kind, std::uint32_t left, std::uint32_t right) {
  return left == kNothing || right == kNothing ? kNothing : make(kind, 0, left, right);
}

void CallFinder::compose_two(SymbolKind kind) {
  const std::uint32_t right = stack_.pop();
  const std::uint32_t left = stack_.pop();
  stack_.push(join(kind, left, right));
}

// Handles comparisons and composed texts: f-strings, `a + b`, and `path / name`.
bool CallFinder::compose(const DecodedInstruction& one) {
  constexpr std::uint32_t kPlain = 1;  // FORMAT_VALUE: no conversion, or str()
  constexpr std::uint32_t kWithFormat = 4;
  constexpr std::uint32_t kMaxParts = 8;
  switch (one.opcode.op) {
    case Op::kFormat: {
      stack_.drop((one.argument & kWithFormat) != 0 ? 1 : 0);
      const std::uint32_t value = stack_.pop();
      const bool plain = one.argument <= kPlain && value != kNothing;
      stack_.push(plain ? make(SymbolKind::kFormatted, 0, value) : kNothing);
      return true;
    }
    case Op::kFormatPlain: {
      const std::uint32_t value = stack_.pop();
      stack_.push(value == kNothing ? kNothing : make(SymbolKind::kFormatted, 0, value));
      return true;
    }
    case Op::kBuildText: {
      std::uint32_t text = one.argument == 0 ? kNothing : stack_.peek(one.argument - 1);
      for (std::uint32_t i = 1; i < std::min(one.argument, kMaxParts); ++i) {
        text = join(SymbolKind::kConcatenated, text, stack_.peek(one.argument - 1 - i));
      }
      stack_.drop(one.argument);
      stack_.push(one.argument > kMaxParts ? kNothing : text);
      return true;
    }
    case Op::kBinary: {
      const bool adds = one.argument == kBinaryAdd || one.argument == kInplaceAdd;
      const bool divides = one.argument == kBinaryDivide || one.argument == kInplaceDivide;
      compose_two(adds      ? SymbolKind::kConcatenated
                  : divides ? SymbolKind::kPathJoined
                            : SymbolKind::kComputed);
      return true;
    }
    case Op::kCompare:
      compose_two(SymbolKind::kCompared);
      return true;
    case Op::kAddTwo:
      compose_two(SymbolKind::kConcatenated);
      return true;
    case Op::kDivideTwo:
      compose_two(SymbolKind::kPathJoined);
      return true;
    default:
      return false;
  }
}

bool CallFinder::move(const DecodedInstruction& one) {
  const std::size_t count = one.argument;
  switch (one.opcode.op) {
    case Op::kCopy:
      stack_.push(count > 0 ? stack_.peek(count - 1) : kNothing);
      return true;
    case Op::kCopyTop: {
      const std::size_t copies = one.opcode.count;
      for (std::size_t i = 0; i < copies; ++i) {
        stack_.push(stack_.peek(copies - 1));
      }
      return true;
    }
    case Op::kSwap:
      stack_.swap_with(count);
      return true;
    case Op::kSwapTwo:
      stack_.swap_with(2);
      return true;
    case Op::kRotate:
      stack_.blur(one.opcode.count);
      return true;
    case Op::kRotateMany:
      stack_.blur(count);
      return true;
    default:
      return false;
  }
}

bool CallFinder::store(std::uint32_t index) {
  const DecodedInstruction& one = code_[index];
  const auto put = [&](SymbolKind kind, std::uint32_t variable) {
    result_.stores.push_back({index, stack_.pop(), Symbol{kind, variable}});
  };
  switch (one.opcode.op) {
    case Op::kStoreFast:
      put(SymbolKind::kFast, one.argument);
      return true;
    case Op::kStoreTwoFast:
      put(SymbolKind::kFast, one.argument >> 4);
      put(SymbolKind::kFast, one.argument & kLowFast);
      return true;
    case Op::kStoreLoadFast:
      put(SymbolKind::kFast, one.argument >> 4);
      stack_.push(make(SymbolKind::kFast, one.argument & kLowFast));
      return true;
    case Op::kStoreDeref:
      put(SymbolKind::kDeref, one.argument);
      return true;
    case Op::kStoreName:
      put(SymbolKind::kGlobal, one.argument);
      return true;
    case Op::kStoreInto: {
      // The value lies beneath the object and the key.
      const auto others = static_cast<std::size_t>(-one.opcode.effect - 1);
      result_.stores.push_back({index, stack_.peek(others), Symbol{}});
      stack_.add(one.opcode.effect);
      return true;
    }
    default:
      return false;
  }
}

// Handles an instruction that pushes values, or computes one from others.
void CallFinder::compute(int effect) {
  if (effect > 0) {
    stack_.add(effect);
    return;
  }
  const auto taken = static_cast<std::size_t>(1 - effect);
  const std::uint32_t first = taken <= 2 ? stack_.peek(taken - 1) : kNothing;
  const std::uint32_t second = taken == 2 ? stack_.peek(0) : kNothing;
  stack_.drop(taken);
  const bool known = first != kNothing && (taken == 1 || second != kNothing);
  stack_.push(known ? make(SymbolKind::kComputed, 0, first, second) : kNothing);
}

void CallFinder::branch(const DecodedInstruction& one) {
  constexpr int kException = 6;  // values that a handler finds, up to 3.10
  SymbolStack before = stack_;
  if (one.opcode.op == Op::kSetupWith) {
    stack_.pop();
    stack_.push(make(SymbolKind::kImplicit, 0));
    before = stack_;
    stack_.push_unknown(1);
    std::swap(stack_, before);
    stack_.add(kException);
  } else {
    stack_.add(one.opcode.jump_effect);
  }
  SymbolStack jumped = std::exchange(stack_, std::move(before));
  if (one.opcode.op != Op::kSetupWith) {
    stack_.add(one.opcode.effect);
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
    case Op::kForIter:
      if (stack_.depth_is_known()) {
        result_.iterators.emplace(index, static_cast<std::int32_t>(stack_.size()));
      }
      branch(one);
      return;
    case Op::kBranch:
      if (stack_.peek(0) != kNothing) {
        result_.tests.emplace_back(index, stack_.peek(0));
      }
      branch(one);
      return;
    case Op::kJump:
    case Op::kSend:
    case Op::kSetupWith:
    case Op::kSetupFinally:
    case Op::kCallFinally:
      branch(one);
      reached_ = one.opcode.op != Op::kJump;
      return;
    case Op::kStartGenerator:
      // The value that starts a generator is pushed here and popped by its GEN_START.
      stack_.add(one.opcode.effect < 0 ? 0 : 1);
      return;
    case Op::kEnterWith:
      stack_.pop();
      stack_.push(make(SymbolKind::kImplicit, 0));
      stack_.push_unknown(1);
      return;
    case Op::kDrop:
    case Op::kPopBlock:
      stack_.add(one.opcode.effect);
      return;
    default:
      break;
  }
  if (store(index) || load(one) || call(index) || build(one) || move(one)) {
    return;
  }
  compute(one.opcode.effect);
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
