// Reads ELF notes: the build id of a file or of a mapped image, and a core file's facts about
// threads. The bytes are hostile: every size is checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace oddrank {

struct ElfNote {
  std::string_view owner;  // "GNU", "CORE", without the NUL at its end
  std::uint32_t type = 0;
  std::span<const std::byte> body;
};

// Removes the first note from `notes` and returns it. Returns nullopt at the end, or if a size
// exceeds it. `alignment`: of the segment or section that holds the notes: 8, or else 4.
std::optional<ElfNote> take_note(std::span<const std::byte>& notes, std::uint64_t alignment);

// Returns the build id in a run of notes (the bytes of a PT_NOTE segment or an SHT_NOTE section) as
// lower-case hex; empty if there is none. An id of more than 64 bytes is ignored.
std::string build_id_of_notes(std::span<const std::byte> notes, std::uint64_t alignment);

}  // namespace oddrank
