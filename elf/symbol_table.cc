#include "elf/symbol_table.h"

#include <algorithm>
#include <cstddef>
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

void SymbolTable::append_variables(std::string_view prefix,
                                   std::array<std::uint64_t, 2> sizes,
                                   const ElfRange& within,
                                   std::vector<NamedRange>& into) const {
  for (const Elf64_Sym& symbol : symbols_) {
    if ((symbol.st_size == sizes[0] || symbol.st_size == sizes[1]) &&
        symbol.st_value - within.address < within.size &&
        ELF64_ST_TYPE(symbol.st_info) == STT_OBJECT && is_defined(symbol) &&
        symbol.st_name < names_.size() && names_.substr(symbol.st_name).starts_with(prefix)) {
      into.push_back({std::string(name(symbol)), {symbol.st_value, symbol.st_size}});
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

bool SymbolSearch::better(const Candidate& candidate, const Candidate& than) {
  if (than.symbol == nullptr) {
    return true;
  }
  const auto rank = [](const Candidate& one) {
    const auto binding = ELF64_ST_BIND(one.symbol->st_info);
    const auto underscores = std::min(one.name.find_first_not_of('_'), one.name.size());
    return std::tuple(~one.symbol->st_value, !is_function(*one.symbol), binding == STB_LOCAL,
                      underscores, binding == STB_WEAK, one.name.size(), one.name);
  };
  return rank(candidate) < rank(than);
}

SymbolSearch::SymbolSearch(std::span<const std::uint64_t> sorted_addresses)
    : addresses_(sorted_addresses), best_(sorted_addresses.size()) {
  if (addresses_.empty()) {
    return;
  }
  const std::uint64_t extent = addresses_.back() - addresses_.front();
  while (extent >> shift_ >= kMaxSlices) {
    ++shift_;
  }
  slices_.reserve((extent >> shift_) + 1);
  for (std::size_t i = 0; i < addresses_.size(); ++i) {
    const std::uint64_t slice = (addresses_[i] - addresses_.front()) >> shift_;
    slices_.resize(std::max<std::size_t>(slices_.size(), slice + 1), static_cast<std::uint32_t>(i));
  }
}

std::size_t SymbolSearch::first_from(std::uint64_t value) const {
  if (value <= addresses_.front()) {
    return 0;
  }
  const std::uint64_t slice = (value - addresses_.front()) >> shift_;
  const std::size_t end = slice + 1 < slices_.size() ? slices_[slice + 1] : addresses_.size();
  const auto from = addresses_.begin() + static_cast<std::ptrdiff_t>(slices_[slice]);
  const auto to = addresses_.begin() + static_cast<std::ptrdiff_t>(end);
  return static_cast<std::size_t>(std::lower_bound(from, to, value) - addresses_.begin());
}

void SymbolSearch::visit(const SymbolTable& table) {
  if (addresses_.empty()) {
    return;
  }
  for (const Elf64_Sym& symbol : table.symbols()) {
    if (symbol.st_size == 0 || symbol.st_value > addresses_.back() || !is_defined(symbol) ||
        !may_be_code(symbol)) {
      continue;
    }
    std::size_t at = first_from(symbol.st_value);
    if (at == addresses_.size() || addresses_[at] - symbol.st_value >= symbol.st_size) {
      continue;
    }
    const Candidate candidate{&symbol, table.name(symbol)};
    if (candidate.name.empty() || is_mapping_mark(candidate.name)) {
      continue;
    }
    for (; at < addresses_.size() && addresses_[at] - symbol.st_value < symbol.st_size; ++at) {
      if (better(candidate, best_[at])) {
        best_[at] = candidate;
      }
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
