// ELF notes: where the build id of a file or of a mapped image is found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace oddrank::stacks {

// The build id in a run of notes (the bytes of a PT_NOTE segment or an SHT_NOTE section), as
// lower-case hex; empty if there is none. `alignment` is the segment's: 8, or else 4. An id of more
// than 64 bytes is not believed.
std::string build_id_of_notes(std::span<const std::byte> notes, std::uint64_t alignment);

}  // namespace oddrank::stacks
