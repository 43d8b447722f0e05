#include "elf/symbol_table.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/support/catch.h"

namespace oddrank::elf {
namespace {

// Functions with names "f0", "f1", ... in a table.
struct Functions {
  std::vector<Elf64_Sym> symbols;
  std::string names = std::string(1, '\0');
  std::set<std::uint64_t> starts;

  // Each start counts once: which of equal ones wins is another rule.
  void add(std::uint64_t start, std::uint64_t size) {
    if (!starts.insert(start).second) {
      return;
    }
    Elf64_Sym symbol{};
    symbol.st_name = static_cast<Elf64_Word>(names.size());
    symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
    symbol.st_shndx = 1;
    symbol.st_value = start;
    symbol.st_size = size;
    names += "f" + std::to_string(symbols.size());
    names.push_back('\0');
    symbols.push_back(symbol);
  }
  SymbolTable table() const { return {symbols, names, false}; }
};

// The name by looking at every symbol.
std::string expected_name(const Functions& functions, std::uint64_t address) {
  const Elf64_Sym* best = nullptr;
  for (const Elf64_Sym& symbol : functions.symbols) {
    if (address >= symbol.st_value && address - symbol.st_value < symbol.st_size &&
        (best == nullptr || symbol.st_value > best->st_value)) {
      best = &symbol;
    }
  }
  return best == nullptr ? "" : std::string(functions.table().name(*best));
}

void check_names(const Functions& functions, std::vector<std::uint64_t> addresses) {
  std::sort(addresses.begin(), addresses.end());
  SymbolSearch search(addresses);
  search.visit(functions.table());
  const std::vector<std::string> names = search.names();
  REQUIRE(names.size() == addresses.size());
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    INFO("address " << addresses[i]);
    CHECK(names[i] == expected_name(functions, addresses[i]));
  }
}

TEST_CASE("the search finds what a look at each symbol finds") {
  std::mt19937_64 random(7);
  for (const std::uint64_t extent :
       {std::uint64_t{2000}, std::uint64_t{1} << 24, ~std::uint64_t{0} / 4}) {
    std::uniform_int_distribution<std::uint64_t> place(0, extent);
    Functions functions;
    std::vector<std::uint64_t> addresses;
    for (int i = 0; i < 300; ++i) {
      functions.add(place(random), 1 + place(random) % (extent / 50));
      addresses.push_back(place(random));
      addresses.push_back(functions.symbols.back().st_value);
      addresses.push_back(functions.symbols.back().st_value + functions.symbols.back().st_size);
    }
    check_names(functions, addresses);
  }
}

TEST_CASE("one address, equal addresses and none are searched, too") {
  Functions functions;
  functions.add(10, 5);
  functions.add(~0ULL - 3, 100);  // runs over the end
  check_names(functions, {12});
  check_names(functions, {12, 12, 12});
  check_names(functions, {9, 10, 14, 15});
  check_names(functions, {0, ~0ULL});
  check_names(functions, {});
}

}  // namespace
}  // namespace oddrank::elf
