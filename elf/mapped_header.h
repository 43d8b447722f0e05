// The ELF header of a module in a target's memory: enough to identify the build and find its unwind
// table, even if its file cannot be opened.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "attach/target.h"
#include "base/result.h"
#include "elf/elf_range.h"

namespace oddrank::elf {

struct MappedHeader {
  std::uint64_t load_bias = 0;
  std::string build_id;  // lower-case hex; empty if it has none
  // Addresses of the file, before the bias.
  std::optional<ElfRange> eh_frame_hdr;
  std::optional<ElfRange> dynamic;
};

// Reads the header at `first`, the module's mapping of file offset 0. Fails with kBadData if no ELF
// header is there.
Result<MappedHeader> read_mapped_header(const attach::Target& target, const attach::Mapping& first);

}  // namespace oddrank::elf
