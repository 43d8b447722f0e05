#include "cpython/bytecode/loop_exits.h"

#include <algorithm>
#include <cstddef>

namespace oddrank::cpython {
namespace {

bool is_variable(const Symbol& symbol) {
  return symbol.kind == SymbolKind::kFast || symbol.kind == SymbolKind::kDeref ||
         symbol.kind == SymbolKind::kGlobal;
}

// Follows a tested value back to the calls that it comes from.
class ExitFinder {
 public:
  ExitFinder(const AnalysedCode& code, const CodeLoop& loop)
      : calls_(code.calls),
        loop_(loop),
        seen_(calls_.symbols.size(), false),
        ending_(calls_.calls.size(), false) {}

  void add(std::uint32_t symbol);
  std::vector<bool> take();

 private:
  bool inside(std::uint32_t instruction) const {
    return std::ranges::binary_search(loop_.body, instruction);
  }
  void follow(std::uint32_t symbol);
  void add_call(std::size_t call);
  void add_variable(const Symbol& variable);
  // Returns whether it is a method of the variable's object, or of an attribute of that.
  bool acts_on(const CodeCall& call, const Symbol& variable) const;

  const CodeCalls& calls_;
  const CodeLoop& loop_;
  std::vector<bool> seen_;  // by symbol
  std::vector<std::uint32_t> next_;
  std::vector<Symbol> variables_;
  std::vector<bool> ending_;  // by call
  bool blind_ = false;        // something that is tested is unknown
};

void ExitFinder::add(std::uint32_t symbol) {
  if (symbol == 0) {
    blind_ = true;
  } else if (!seen_[symbol]) {
    seen_[symbol] = true;
    next_.push_back(symbol);
  }
}

bool ExitFinder::acts_on(const CodeCall& call, const Symbol& variable) const {
  std::uint32_t symbol = call.callee;
  while (calls_.symbols[symbol].kind == SymbolKind::kAttribute) {
    symbol = calls_.symbols[symbol].base;
  }
  return symbol != call.callee && calls_.symbols[symbol] == variable;
}

void ExitFinder::add_variable(const Symbol& variable) {
  if (std::ranges::find(variables_, variable) != variables_.end()) {
    return;
  }
  variables_.push_back(variable);
  for (const CodeStore& store : calls_.stores) {
    if (store.variable == variable && inside(store.instruction)) {
      add(store.value);
    }
  }
  for (std::size_t i = 0; i < calls_.calls.size(); ++i) {
    if (inside(calls_.calls[i].instruction) && acts_on(calls_.calls[i], variable)) {
      add_call(i);
    }
  }
}

void ExitFinder::add_call(std::size_t call) {
  if (ending_[call]) {
    return;
  }
  ending_[call] = true;
  for (const std::uint32_t argument : calls_.calls[call].arguments) {
    if (argument != 0) {
      add(argument);
    }
  }
  if (calls_.calls[call].callee != 0) {
    add(calls_.calls[call].callee);
  }
}

void ExitFinder::follow(std::uint32_t symbol) {
  const Symbol& one = calls_.symbols[symbol];
  if (one.kind == SymbolKind::kResult) {
    add_call(one.index);
  } else if (is_variable(one)) {
    add_variable(one);
  } else {
    for (const std::uint32_t part : {one.base, one.other}) {
      if (part != 0) {
        add(part);
      }
    }
  }
}

std::vector<bool> ExitFinder::take() {
  for (const CodeStore& store : calls_.stores) {
    const Symbol& value = calls_.symbols[store.value];
    if (store.variable.kind == SymbolKind::kUnknown && value.kind == SymbolKind::kResult) {
      add(store.value);
    }
  }
  while (!next_.empty() && !blind_) {
    const std::uint32_t symbol = next_.back();
    next_.pop_back();
    follow(symbol);
  }
  if (blind_) {
    ending_.assign(ending_.size(), true);
  }
  return std::move(ending_);
}

}  // namespace

bool leaves_loop(const AnalysedCode& code, const CodeLoop& loop, std::uint32_t instruction) {
  const DecodedInstruction& one = code.instructions[instruction];
  const auto inside = [&loop](std::uint32_t index) {
    return std::ranges::binary_search(loop.body, index);
  };
  return one.opcode.op == Op::kBranch && inside(instruction) &&
         (!inside(instruction + 1) || !inside(one.target));
}

bool is_endless(const AnalysedCode& code, const CodeLoop& loop) {
  const auto inside = [&loop](std::uint32_t index) {
    return index == kNoInstruction || std::ranges::binary_search(loop.body, index);
  };
  const bool stays = std::ranges::all_of(loop.body, [&](std::uint32_t index) {
    const DecodedInstruction& one = code.instructions[index];
    const bool goes_on = one.opcode.op != Op::kJump && one.opcode.op != Op::kEnd;
    return inside(one.target) && (!goes_on || inside(index + 1));
  });
  return stays && std::ranges::all_of(code.handlers, [&](const HandlerRange& range) {
           const bool covers = std::ranges::any_of(loop.body, [&](std::uint32_t index) {
             const std::uint32_t unit = code.instructions[index].begin;
             return unit >= range.begin && unit < range.end;
           });
           return !covers || inside(instruction_at(code.instructions, range.handler));
         });
}

std::vector<bool> calls_that_may_end(const AnalysedCode& code, const CodeLoop& loop) {
  ExitFinder finder(code, loop);
  auto test = code.calls.tests.begin();
  for (const std::uint32_t at : loop.body) {
    if (leaves_loop(code, loop, at)) {
      test = std::find_if(test, code.calls.tests.end(),
                          [at](const auto& one) { return one.first >= at; });
      const bool known = test != code.calls.tests.end() && test->first == at;
      finder.add(known ? test->second : 0);
    }
  }
  return finder.take();
}

}  // namespace oddrank::cpython
