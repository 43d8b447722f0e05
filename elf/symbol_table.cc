#include "elf/symbol_table.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>

namespace oddrank::elf {
namespace {

constexpr std::size_t kMaxSymbolName = std::size_t{16} << 10;
constexpr std::size_t kMaxSlices = 4096;

bool is_defined(const Elf64_Sym& symbol) {
  return symbol.st_shndx != SHN_UNDEF && symbol.st_name != 0;
}

bool is_function(const Elf64_Sym& symbol) {
  const auto type = ELF64_ST_TYPE(symbol.st_info);
  return type == STT_FUNC || type == STT_GNU_IFUNC;
}

// Assembler labels count: some functions of the C library are nothing else.
bool may_be_code(const Elf64_Sym& symbol) {
  return is_function(symbol) || ELF64_ST_TYPE(symbol.st_info) == STT_NOTYPE;
}

// Static variables of inline functions are weak or unique, of other functions local.
bool may_be_of_function(const Elf64_Sym& symbol) {
  return ELF64_ST_BIND(symbol.st_info) != STB_GLOBAL;
}

// Marks of where code and data begin ("$x", "$d.7"), not functions.
bool is_mapping_mark(std::string_view name) {
  return name.starts_with('$');
}

}  // namespace

std::string_view SymbolTable::name(const Elf64_Sym& symbol) const {
  if (symbol.st_name >= names_.size()) {
    return {};
  }
  const auto rest = names_.substr(symbol.st_name, kMaxSymbolName);
  return rest.substr(0, rest.find('\0'));
}

std::optional<ElfRange> SymbolTable::find(std::string_view name) const {
  for (const Elf64_Sym& symbol : symbols_) {
    // The length check keeps the search from running strlen over every name.
    if (!is_defined(symbol) || symbol.st_name >= names_.size() ||
        !names_.substr(symbol.st_name).starts_with(name)) {
      continue;
    }
    if (this->name(symbol) == name) {
      return ElfRange{symbol.st_value, symbol.st_size};
    }
  }
  return std::nullopt;
}

void SymbolTable::append_variables(VariableSearch& search, const Text& text) const {
  const auto sizes = search.sizes;
  const ElfRange within = search.within;
  for (const Elf64_Sym& symbol : symbols_) {
    if ((symbol.st_size == sizes[0] || symbol.st_size == sizes[1]) &&
        symbol.st_value - within.address < within.size &&
        ELF64_ST_TYPE(symbol.st_info) == STT_OBJECT && may_be_of_function(symbol) &&
        is_defined(symbol) && symbol.st_name < names_.size() &&
        text(names_.substr(symbol.st_name, search.prefix.size())) == search.prefix) {
      search.found.push_back({std::string(name(symbol)), {symbol.st_value, symbol.st_size}});
    }
  }
}

void SymbolTable::append_functions(std::string_view prefix, std::vector<ElfRange>& into) const {
  for (const Elf64_Sym& symbol : symbols_) {
    if (is_defined(symbol) && is_function(symbol) && symbol.st_name < names_.size() &&
        names_.substr(symbol.st_name).starts_with(prefix)) {
      into.push_back({symbol.st_value, symbol.st_size});
    }
  }
}

void SymbolTable::narrow(std::uint64_t address, CodeRange& range) const {
  for (const Elf64_Sym& symbol : symbols_) {
    const std::uint64_t end = symbol.st_value + symbol.st_size;
    const bool contains = symbol.st_value <= address && address < end;
    const bool narrows =
        contains ? !range.is_function || symbol.st_value > range.start
                 : !range.is_function &&
                       (end <= address ? end > range.start : symbol.st_value < range.end);
    if (!narrows || !is_defined(symbol) || !may_be_code(symbol) || is_mapping_mark(name(symbol))) {
      continue;
    }
    if (contains) {
      range = {symbol.st_value, end, true};
    } else if (end <= address) {
      range.start = end;
    } else {
      range.end = symbol.st_value;
    }
  }
}

bool SymbolSearch::better(const Candidate& candidate, const Candidate& than) {
  if (than.name.empty()) {
    return true;
  }
  const auto rank = [](const Candidate& one) {
    const auto binding = ELF64_ST_BIND(one.symbol.st_info);
    const auto underscores = std::min(one.name.find_first_not_of('_'), one.name.size());
    return std::tuple(~one.symbol.st_value, !is_function(one.symbol), binding == STB_LOCAL,
                      underscores, binding == STB_WEAK, one.name.size(), one.name);
  };
  return rank(candidate) < rank(than);
}

SymbolSearch::SymbolSearch(std::span<const std::uint64_t> sorted_addresses)
    : addresses_(sorted_addresses), best_(sorted_addresses.size()) {
  if (addresses_.empty()) {
    return;
  }
  while (addresses_.back() >> shift_ >= kMaxSlices) {
    ++shift_;
  }
  next_.reserve((addresses_.back() >> shift_) + 2);
  for (const std::uint64_t address : addresses_) {
    const std::size_t slice = address >> shift_;
    next_.resize(std::max(next_.size(), slice), address);
    next_.resize(slice + 1, 0);
  }
  next_.push_back(UINT64_MAX);  // of all that lie behind the last address
}

// Nearly all symbols fail the first condition. It has no branch that depends on a symbol's address:
// symbols come in no order, and a wrong branch prediction costs more than the rest of the work on a
// symbol.
void SymbolSearch::visit(const SymbolTable& table) {
  const std::uint64_t* const next = next_.data();
  const std::size_t last = next_.empty() ? 0 : next_.size() - 1;
  const unsigned shift = shift_;
  for (const Elf64_Sym& symbol : next_.empty() ? std::span<const Elf64_Sym>() : table.symbols()) {
    const std::size_t slice = std::min<std::size_t>(symbol.st_value >> shift, last);
    if (next[slice] < symbol.st_value + symbol.st_size) {
      look_at(symbol, table);
    }
  }
}

void SymbolSearch::look_at(const Elf64_Sym& symbol, const SymbolTable& table) {
  if (symbol.st_size == 0 || !is_defined(symbol) || !may_be_code(symbol)) {
    return;
  }
  auto at = static_cast<std::size_t>(
      std::lower_bound(addresses_.begin(), addresses_.end(), symbol.st_value) - addresses_.begin());
  if (at == addresses_.size() || addresses_[at] - symbol.st_value >= symbol.st_size) {
    return;
  }
  const Candidate candidate{symbol, table.name(symbol)};
  if (candidate.name.empty() || is_mapping_mark(candidate.name)) {
    return;
  }
  for (; at < addresses_.size() && addresses_[at] - symbol.st_value < symbol.st_size; ++at) {
    if (better(candidate, best_[at])) {
      best_[at] = candidate;
    }
  }
}

std::vector<std::string> SymbolSearch::names() const {
  std::vector<std::string> names;
  names.reserve(best_.size());
  for (const Candidate& best : best_) {
    names.emplace_back(best.name);
  }
  return names;
}

}  // namespace oddrank::elf
