#include "stacks/elf_notes.h"

#include <elf.h>

#include <cstring>

namespace oddrank::stacks {
namespace {

constexpr std::size_t kLongestBuildId = 64;

std::string to_hex(std::span<const std::byte> bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  hex.reserve(bytes.size() * 2);
  for (const std::byte byte : bytes) {
    hex.push_back(kDigits[std::to_integer<unsigned>(byte) >> 4U]);
    hex.push_back(kDigits[std::to_integer<unsigned>(byte) & 15U]);
  }
  return hex;
}

}  // namespace

std::string build_id_of_notes(std::span<const std::byte> notes, std::uint64_t alignment) {
  const std::uint64_t step = alignment == 8 ? 8 : 4;
  const auto padded = [step](std::uint64_t size) { return (size + step - 1) & ~(step - 1); };
  while (notes.size() >= sizeof(Elf64_Nhdr)) {
    Elf64_Nhdr header{};
    std::memcpy(&header, notes.data(), sizeof header);
    // 32-bit sizes in 64-bit sums: nothing can wrap.
    const std::uint64_t name_at = sizeof header;
    const std::uint64_t body_at = padded(name_at + header.n_namesz);
    if (body_at + header.n_descsz > notes.size()) {
      return {};
    }
    if (header.n_type == NT_GNU_BUILD_ID && header.n_namesz == 4 &&
        std::memcmp(notes.data() + name_at, "GNU", 4) == 0 && header.n_descsz <= kLongestBuildId) {
      return to_hex(notes.subspan(body_at, header.n_descsz));
    }
    const std::uint64_t next = padded(body_at + header.n_descsz);
    if (next >= notes.size()) {
      return {};
    }
    notes = notes.subspan(next);
  }
  return {};
}

}  // namespace oddrank::stacks
