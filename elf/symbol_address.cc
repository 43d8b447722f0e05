#include "elf/symbol_address.h"

#include <optional>
#include <utility>

#include "elf/mapped_symbols.h"

namespace oddrank::elf {
namespace {

std::optional<std::uint64_t> find_symbol(const ElfImage& image,
                                         std::span<const std::string_view> names,
                                         std::uint64_t size) {
  for (const std::string_view name : names) {
    const auto found = image.symbol(name);
    if (found && (size == 0 || found->size == size)) {
      return found->address;
    }
  }
  return std::nullopt;
}

}  // namespace

attach::Addr symbol_address(const attach::Target& target,
                            ModuleMap& modules,
                            const Module& module,
                            std::span<const std::string_view> names,
                            std::uint64_t size) {
  if (const auto image = modules.image_of(module)) {
    const auto bias = modules.load_bias(module);
    const auto symbol = find_symbol(**image, names, size);
    return bias && symbol ? attach::Addr{*symbol + *bias} : attach::Addr{};
  }
  // Its file was replaced, or is not there: the dynamic symbols are in memory too.
  const auto header = modules.mapped_header(module);
  auto copy = copy_mapped_symbols(target, module);
  if (!header || !copy) {
    return attach::Addr{};
  }
  const auto image = ElfImage::from_memory(*std::move(copy));
  const auto symbol = image ? find_symbol(*image, names, size) : std::nullopt;
  return symbol ? attach::Addr{*symbol + (*header)->load_bias} : attach::Addr{};
}

}  // namespace oddrank::elf
