// The ELF header of a module as it lies in a target's memory: enough to say which build it is and
// where its unwind table lies, also where its file cannot be opened.
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

// `first`: the module's mapping of file offset 0. kBadData: no ELF header lies there.
Result<MappedHeader> read_mapped_header(const attach::Target& target, const attach::Mapping& first);

}  // namespace oddrank::elf
