#include "unwind/unwind_table.h"

#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "unwind/eh_frame_index.h"

namespace oddrank::unwind {
namespace {

constexpr std::uint8_t kVersion = 1;
// DW_EH_PE_datarel | DW_EH_PE_sdata4: the only form that can be searched.
constexpr std::uint8_t kSortedTable = 0x3b;
constexpr std::uint64_t kEntrySize = 8;

struct Place {
  std::uint64_t address = 0;
  std::uint64_t size = 0;
};

std::optional<Place> find_header(const elf::Module& module, elf::ModuleMap& modules) {
  const auto image = modules.image_of(module);
  const auto bias = modules.load_bias(module);
  if (image && bias) {
    const auto range = (*image)->eh_frame_hdr();
    return range ? std::optional(Place{range->address + *bias, range->size}) : std::nullopt;
  }
  const auto header = modules.mapped_header(module);
  if (!header || !(*header)->eh_frame_hdr) {
    return std::nullopt;
  }
  return Place{(*header)->eh_frame_hdr->address + (*header)->load_bias,
               (*header)->eh_frame_hdr->size};
}

// Returns the bytes of a pointer in one of the fixed-size encodings; 0 for the others.
std::size_t encoded_size(std::uint8_t encoding) {
  switch (encoding & 0x0fU) {
    case 0x02:
    case 0x0a:
      return 2;
    case 0x03:
    case 0x0b:
      return 4;
    case 0x00:
    case 0x04:
    case 0x0c:
      return 8;
    default:
      return 0;
  }
}

std::optional<UnwindTable> find_linked_table(const elf::Module& module,
                                             elf::ModuleMap& modules,
                                             UnwindMemory& memory) {
  const auto place = find_header(module, modules);
  std::array<std::uint8_t, 4> head{};
  if (!place || !memory.read(place->address, std::as_writable_bytes(std::span(head)))) {
    return std::nullopt;
  }
  const auto [version, frame_encoding, count_encoding, table_encoding] = head;
  const std::size_t frame_size = encoded_size(frame_encoding);
  const std::size_t count_size = encoded_size(count_encoding);
  if (version != kVersion || table_encoding != kSortedTable || frame_size == 0 || count_size == 0) {
    return std::nullopt;
  }
  UnwindTable table{place->address, place->address + head.size() + frame_size + count_size, 0};
  if (!memory.read(table.entries - count_size,
                   std::as_writable_bytes(std::span(&table.count, 1)).first(count_size))) {
    return std::nullopt;
  }
  const std::uint64_t before = table.entries - table.header;
  if (before > place->size || table.count > (place->size - before) / kEntrySize) {
    return std::nullopt;
  }
  return table;
}

struct Entry {
  std::int32_t start = 0;
  std::int32_t description = 0;
};
static_assert(sizeof(Entry) == kEntrySize);

// Writes the table as the linker does: offsets from the module's start.
std::optional<UnwindTable> make_table(const elf::Module& module,
                                      elf::ModuleMap& modules,
                                      UnwindMemory& memory) {
  const auto image = modules.image_of(module);
  const auto bias = modules.load_bias(module);
  const auto section = image ? (*image)->section(".eh_frame") : std::nullopt;
  if (!section || !bias) {
    return std::nullopt;
  }
  const std::uint64_t base = module.start - *bias;
  std::vector<std::byte> bytes;
  std::uint64_t count = 0;
  for (const FrameDescription& one :
       index_eh_frame((*image)->bytes_at(section->address, section->size), section->address)) {
    const auto start = static_cast<std::int64_t>(one.start - base);
    const auto description = static_cast<std::int64_t>(one.entry - base);
    if (!std::in_range<std::int32_t>(start) || !std::in_range<std::int32_t>(description)) {
      continue;
    }
    const Entry entry{static_cast<std::int32_t>(start), static_cast<std::int32_t>(description)};
    const auto stored = std::as_bytes(std::span(&entry, 1));
    bytes.insert(bytes.end(), stored.begin(), stored.end());
    ++count;
  }
  if (count == 0) {
    return std::nullopt;
  }
  return UnwindTable{module.start, memory.hold(std::move(bytes)), count};
}

}  // namespace

std::optional<UnwindTable> find_unwind_table(const elf::Module& module,
                                             elf::ModuleMap& modules,
                                             UnwindMemory& memory) {
  auto table = find_linked_table(module, modules, memory);
  return table && table->count != 0 ? table : make_table(module, modules, memory);
}

}  // namespace oddrank::unwind
