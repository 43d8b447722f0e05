// One symbol table of an ELF file, and a search for the symbols that contain given addresses.
//
// Searching is one pass over the table against a sorted list of addresses: several times cheaper
// than an index of the table, which pays only for repeated searches.
#pragma once

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "elf/elf_range.h"

namespace oddrank::elf {

// Borrows both the symbols and their names; names need not end inside the table.
class SymbolTable {
 public:
  SymbolTable(std::span<const Elf64_Sym> symbols, std::string_view names, bool dynamic)
      : symbols_(symbols), names_(names), dynamic_(dynamic) {}

  bool dynamic() const { return dynamic_; }
  std::span<const Elf64_Sym> symbols() const { return symbols_; }
  // Returns the name as in the file, cut at 16 KiB; empty if it has none or its offset is outside.
  std::string_view name(const Elf64_Sym& symbol) const;

  // Returns a table of at most `count` of the symbols, from `first` on, with all names.
  SymbolTable part(std::size_t first, std::size_t count) const {
    return {symbols_.subspan(first, std::min(count, symbols_.size() - first)), names_, dynamic_};
  }

  // Returns the same table with a copy of its symbols.
  SymbolTable with(std::span<const Elf64_Sym> copied) const { return {copied, names_, dynamic_}; }

  // Finds a defined symbol of that exact name.
  std::optional<ElfRange> find(std::string_view name) const;
  // Adds each defined function whose name has the prefix.
  void append_functions(std::string_view prefix, std::vector<ElfRange>& into) const;
  // Narrows the range of code around `address` by each function and label.
  void narrow(std::uint64_t address, CodeRange& range) const;
  // Adds the variables that `search` is for. `text`: returns a copy of a name, or the name itself.
  using Text = std::function<std::string_view(std::string_view)>;
  void append_variables(VariableSearch& search, const Text& text) const;

 private:
  std::span<const Elf64_Sym> symbols_;
  std::string_view names_;
  bool dynamic_ = false;
};

// Finds the best symbol for each address, over several tables. If several symbols contain an
// address, the one with the nearest start wins; then functions before labels, global before local,
// and names without leading underscores before those with them, since libraries often alias one
// function: "read", "__read", "__GI___read".
class SymbolSearch {
 public:
  explicit SymbolSearch(std::span<const std::uint64_t> sorted_addresses);

  // The names that `table` borrows must outlive the search; its symbols need not.
  void visit(const SymbolTable& table);
  // Returns names in the order of the addresses; "" if no symbol contains one.
  std::vector<std::string> names() const;

 private:
  struct Candidate {
    Elf64_Sym symbol{};
    std::string_view name;  // "" if there is none yet
  };
  static bool better(const Candidate& candidate, const Candidate& than);
  // Takes a symbol that may contain one of the addresses.
  void look_at(const Elf64_Sym& symbol, const SymbolTable& table);

  std::span<const std::uint64_t> addresses_;
  // [address >> shift_] -> the next address to name; 0 if there is one in the same slice. A library
  // has a hundred thousand symbols for each address: this rules out nearly all at once, because
  // they end before the next address.
  std::vector<std::uint64_t> next_;
  unsigned shift_ = 0;
  std::vector<Candidate> best_;
};

}  // namespace oddrank::elf
