#include "cpython/cold_ranges.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "cpython/machine/jumps.h"
#include "cpython/remote_reader.h"

namespace oddrank::cpython {
namespace {

constexpr std::size_t kMaxParts = 4;
constexpr std::uint64_t kMaxCodeBytes = 1U << 20;  // searched bytes of one part
constexpr unsigned kMinJumpsIntoPart = 4;          // fewer may be other bytes taken for jumps

// The index in .eh_frame_hdr, in the form that linkers write (Linux Standard Base).
class UnwindIndex {
 public:
  explicit UnwindIndex(const elf::ElfImage& image);

  // Returns the range whose entry covers the address; nullopt if there is none.
  std::optional<elf::ElfRange> find(std::uint64_t address) const;

 private:
  static constexpr std::size_t kHead = 12;
  static constexpr std::size_t kRow = 8;

  std::uint64_t relative(std::int32_t offset) const;
  std::uint64_t start_of(std::size_t row) const;

  const elf::ElfImage& image_;
  std::uint64_t address_ = 0;
  std::span<const std::byte> rows_;
};

UnwindIndex::UnwindIndex(const elf::ElfImage& image) : image_(image) {
  constexpr std::array<std::uint8_t, 4> kUsualForm = {1, 0x1b, 0x03, 0x3b};
  const auto header = image.eh_frame_hdr();
  if (!header) {
    return;
  }
  const auto bytes = image.bytes_at(header->address, header->size);
  if (bytes.size() < kHead || std::memcmp(bytes.data(), kUsualForm.data(), 4) != 0) {
    return;
  }
  address_ = header->address;
  const std::size_t room = (bytes.size() - kHead) / kRow;
  rows_ =
      bytes.subspan(kHead, std::min<std::size_t>(number_at<std::uint32_t>(bytes, 8), room) * kRow);
}

std::optional<elf::ElfRange> UnwindIndex::find(std::uint64_t address) const {
  std::size_t low = 0;
  std::size_t high = rows_.size() / kRow;
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (start_of(middle) <= address) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == 0) {
    return std::nullopt;
  }
  const std::uint64_t start = start_of(low - 1);
  const std::uint64_t entry = relative(number_at<std::int32_t>(rows_, (low - 1) * kRow + 4));
  // Length, offset of the common entry, start of the code, length of the code: 4 bytes each.
  const auto bytes = image_.bytes_at(entry, 16);
  const std::uint64_t size = number_at<std::uint32_t>(bytes, 12);
  if (address - start >= size) {
    return std::nullopt;
  }
  return elf::ElfRange{start, size};
}

std::uint64_t UnwindIndex::relative(std::int32_t offset) const {
  return address_ + static_cast<std::uint64_t>(std::int64_t{offset});
}

std::uint64_t UnwindIndex::start_of(std::size_t row) const {
  return relative(number_at<std::int32_t>(rows_, row * kRow));
}

bool contains(const std::vector<elf::ElfRange>& ranges, std::uint64_t address) {
  return std::any_of(ranges.begin(), ranges.end(), [address](const elf::ElfRange& range) {
    return address - range.address < range.size;
  });
}

}  // namespace

std::vector<elf::ElfRange> cold_ranges(const elf::ElfImage& image, const elf::ElfRange& function) {
  const UnwindIndex index(image);
  std::vector<elf::ElfRange> parts = {function};
  for (std::size_t i = 0; i < parts.size() && parts.size() <= kMaxParts; ++i) {
    std::map<std::uint64_t, unsigned> hits;  // start of a part -> jumps into its middle
    std::map<std::uint64_t, elf::ElfRange> ranges;
    const auto code = image.bytes_at(parts[i].address, std::min(parts[i].size, kMaxCodeBytes));
    for (const std::uint64_t target : jump_targets(code, parts[i].address)) {
      const auto range = contains(parts, target) ? std::nullopt : index.find(target);
      if (range && target != range->address) {
        ++hits[range->address];
        ranges[range->address] = *range;
      }
    }
    for (const auto& [start, count] : hits) {
      const bool named = !image.names_of(std::span(&start, 1)).front().empty();
      if (count >= kMinJumpsIntoPart && !named && parts.size() <= kMaxParts) {
        parts.push_back(ranges[start]);
      }
    }
  }
  parts.erase(parts.begin());
  return parts;
}

}  // namespace oddrank::cpython
