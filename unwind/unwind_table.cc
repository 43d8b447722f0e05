#include "unwind/unwind_table.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

// Returns the size in bytes of a pointer in one of the fixed-size encodings; 0 for the others.
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

namespace {

// DW_EH_PE_*: the low four bits are the format of a pointer, the high four its base.
constexpr std::uint8_t kFormat = 0x0f;
constexpr std::uint8_t kApplication = 0xf0;
constexpr std::uint8_t kRelativeToItself = 0x10;
constexpr std::uint8_t kAbsolute = 0x00;

// Reads from the front of some bytes; a read past the end returns 0, and good() is false from then
// on.
class Bytes {
 public:
  Bytes(std::span<const std::byte> bytes, std::uint64_t address)
      : bytes_(bytes), address_(address) {}

  bool good() const { return good_; }
  std::uint64_t address() const { return address_; }

  template <typename T>
  T take();
  void skip(std::size_t count);
  // Skips a LEB128 number: seven bits a byte, the eighth bit is clear in the last byte.
  void skip_leb128();
  std::string_view take_text();
  std::optional<std::uint64_t> take_pointer(std::uint8_t encoding);

 private:
  std::span<const std::byte> bytes_;
  std::uint64_t address_;
  bool good_ = true;
};

template <typename T>
T Bytes::take() {
  T value{};
  if (bytes_.size() < sizeof value) {
    good_ = false;
    return value;
  }
  std::memcpy(&value, bytes_.data(), sizeof value);
  skip(sizeof value);
  return value;
}

void Bytes::skip(std::size_t count) {
  good_ = good_ && count <= bytes_.size();
  count = std::min(count, bytes_.size());
  bytes_ = bytes_.subspan(count);
  address_ += count;
}

void Bytes::skip_leb128() {
  while ((take<std::uint8_t>() & 0x80U) != 0 && good_) {
  }
}

std::string_view Bytes::take_text() {
  const auto* const text = reinterpret_cast<const char*>(bytes_.data());
  const std::size_t size = ::strnlen(text, bytes_.size());
  skip(size + 1);
  return {text, size};
}

std::optional<std::uint64_t> Bytes::take_pointer(std::uint8_t encoding) {
  const std::uint64_t at = address_;
  std::uint64_t value = 0;
  switch (encoding & kFormat) {
    case 0x00:
    case 0x04:
    case 0x0c:
      value = take<std::uint64_t>();
      break;
    case 0x03:
      value = take<std::uint32_t>();
      break;
    case 0x0b:
      value = static_cast<std::uint64_t>(std::int64_t{take<std::int32_t>()});
      break;
    default:
      return std::nullopt;
  }
  const auto application = static_cast<std::uint8_t>(encoding & kApplication);
  if (!good_ || (application != kAbsolute && application != kRelativeToItself)) {
    return std::nullopt;
  }
  return application == kAbsolute ? value : at + value;
}

// Returns how the entries of a common part (CIE) store addresses; nullopt if in an unknown way.
std::optional<std::uint8_t> encoding_of(Bytes common) {
  const auto version = common.take<std::uint8_t>();
  const std::string_view augmentation = common.take_text();
  if ((version != 1 && version != 3) || augmentation.find("eh") != std::string_view::npos) {
    return std::nullopt;
  }
  common.skip_leb128();  // code alignment
  common.skip_leb128();  // data alignment
  if (version == 1) {
    common.skip(1);  // return address register
  } else {
    common.skip_leb128();
  }
  if (augmentation.empty()) {
    return kAbsolute;
  }
  if (augmentation.front() != 'z') {
    return std::nullopt;
  }
  common.skip_leb128();
  std::uint8_t encoding = kAbsolute;
  for (const char letter : augmentation.substr(1)) {
    if (letter == 'R') {
      encoding = common.take<std::uint8_t>();
    } else if (letter == 'L') {
      common.skip(1);
    } else if (letter == 'P') {
      // Only the size of the personality function's address matters.
      const auto personality = common.take<std::uint8_t>();
      if (!common.take_pointer(static_cast<std::uint8_t>(personality & kFormat))) {
        return std::nullopt;
      }
    } else if (letter != 'S' && letter != 'B') {
      return std::nullopt;
    }
  }
  return common.good() ? std::optional(encoding) : std::nullopt;
}

}  // namespace

std::vector<FrameDescription> index_eh_frame(std::span<const std::byte> section,
                                             std::uint64_t address) {
  std::vector<FrameDescription> index;
  std::map<std::uint64_t, std::optional<std::uint8_t>> encodings;  // by the address of the CIE
  Bytes rest(section, address);
  while (true) {
    const std::uint64_t entry_at = rest.address();
    std::uint64_t length = rest.take<std::uint32_t>();
    const bool is_long = length == 0xffffffff;
    if (is_long) {
      length = rest.take<std::uint64_t>();
    }
    const std::uint64_t from = rest.address() - address;
    if (!rest.good() || length == 0 || length > section.size() - from) {
      break;
    }
    Bytes entry(section.subspan(from, length), rest.address());
    rest.skip(length);
    if (is_long) {
      continue;  // for sections beyond 4 GB
    }
    const std::uint64_t id_at = entry.address();
    const auto id = entry.take<std::uint32_t>();
    if (id == 0) {
      encodings[entry_at] = encoding_of(entry);
      continue;
    }
    const auto common = encodings.find(id_at - id);
    if (common == encodings.end() || !common->second) {
      continue;
    }
    if (const auto start = entry.take_pointer(*common->second); start && *start != 0) {
      index.push_back({*start, entry_at});
    }
  }
  std::stable_sort(
      index.begin(), index.end(),
      [](const FrameDescription& a, const FrameDescription& b) { return a.start < b.start; });
  return index;
}

}  // namespace oddrank::unwind
