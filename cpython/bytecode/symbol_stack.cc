#include "cpython/bytecode/symbol_stack.h"

#include <algorithm>
#include <utility>

namespace oddrank::cpython {

void SymbolStack::push(std::uint32_t symbol) {
  if (values_.size() >= kMaxStackSymbols) {
    forget();
  }
  values_.push_back(symbol);
}

void SymbolStack::push_unknown(std::size_t count) {
  if (count > kMaxStackSymbols) {
    forget();
    return;
  }
  for (std::size_t i = 0; i < count; ++i) {
    push(kUnknownSymbol);
  }
}

std::uint32_t SymbolStack::pop() {
  if (values_.empty()) {
    known_ = false;
    return kUnknownSymbol;
  }
  const std::uint32_t top = values_.back();
  values_.pop_back();
  return top;
}

void SymbolStack::drop(std::size_t count) {
  known_ = known_ && count <= values_.size();
  values_.resize(values_.size() - std::min(count, values_.size()));
}

void SymbolStack::add(int effect) {
  if (effect > 0) {
    push_unknown(static_cast<std::size_t>(effect));
  } else {
    drop(static_cast<std::size_t>(-effect));
  }
}

std::uint32_t SymbolStack::peek(std::size_t from_top) const {
  return from_top < values_.size() ? values_[values_.size() - 1 - from_top] : kUnknownSymbol;
}

void SymbolStack::swap_with(std::size_t depth) {
  if (depth == 0 || depth > values_.size()) {
    forget();
  } else {
    std::swap(values_.back(), values_[values_.size() - depth]);
  }
}

void SymbolStack::blur(std::size_t count) {
  const auto first = values_.end() - static_cast<std::ptrdiff_t>(std::min(count, values_.size()));
  std::fill(first, values_.end(), kUnknownSymbol);
}

void SymbolStack::forget() {
  values_.clear();
  known_ = false;
}

void SymbolStack::cut_to(std::size_t kept, std::size_t pushed) {
  if (kept + pushed > kMaxStackSymbols) {
    forget();
    return;
  }
  values_.resize(kept, kUnknownSymbol);
  values_.resize(kept + pushed, kUnknownSymbol);
  known_ = true;
}

void SymbolStack::merge(const SymbolStack& other) {
  if (values_.size() != other.values_.size()) {
    forget();
    return;
  }
  for (std::size_t i = 0; i < values_.size(); ++i) {
    values_[i] = values_[i] == other.values_[i] ? values_[i] : kUnknownSymbol;
  }
  known_ = known_ && other.known_;
}

}  // namespace oddrank::cpython
