#include "base/elf_notes.h"

#include <elf.h>

#include <algorithm>
#include <cstring>

#include "base/hex.h"

namespace oddrank {
namespace {

constexpr std::size_t kMaxBuildId = 64;

}  // namespace

std::optional<ElfNote> take_note(std::span<const std::byte>& notes, std::uint64_t alignment) {
  const std::uint64_t step = alignment == 8 ? 8 : 4;
  const auto padded = [step](std::uint64_t size) { return (size + step - 1) & ~(step - 1); };
  Elf64_Nhdr header{};
  if (notes.size() < sizeof header) {
    return std::nullopt;
  }
  std::memcpy(&header, notes.data(), sizeof header);
  // 32-bit sizes in 64-bit sums: nothing can wrap.
  const std::uint64_t body_at = padded(sizeof header + header.n_namesz);
  if (body_at + header.n_descsz > notes.size()) {
    return std::nullopt;
  }
  ElfNote note;
  note.owner = {reinterpret_cast<const char*>(notes.data()) + sizeof header, header.n_namesz};
  note.owner = note.owner.substr(0, note.owner.find('\0'));
  note.type = header.n_type;
  note.body = notes.subspan(body_at, header.n_descsz);
  notes = notes.subspan(std::min<std::uint64_t>(padded(body_at + header.n_descsz), notes.size()));
  return note;
}

std::string build_id_of_notes(std::span<const std::byte> notes, std::uint64_t alignment) {
  while (const auto note = take_note(notes, alignment)) {
    if (note->type == NT_GNU_BUILD_ID && note->owner == "GNU" && note->body.size() <= kMaxBuildId) {
      return hex_bytes(note->body);
    }
  }
  return {};
}

}  // namespace oddrank
