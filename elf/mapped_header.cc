#include "elf/mapped_header.h"

#include <elf.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

#include "base/elf_notes.h"
#include "base/machine.h"

namespace oddrank::elf {
namespace {

constexpr std::size_t kMaxMappedSegments = 256;
constexpr std::uint64_t kMaxNotes = 4096;

Status check_header(const Elf64_Ehdr& header, const attach::Mapping& first) {
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
    return fail(Errc::kBadData, "no ELF header in memory at the start of " + first.path);
  }
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != elf_machine(kOurMachine)) {
    return fail(Errc::kUnsupported, first.path + " is of another machine than " +
                                        std::string(machine_name(kOurMachine)));
  }
  if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum > kMaxMappedSegments) {
    return fail(Errc::kBadData, "damaged program headers in memory of " + first.path);
  }
  return ok();
}

std::string read_build_id(const attach::Target& target,
                          const Elf64_Phdr& notes,
                          std::uint64_t load_bias) {
  std::vector<std::byte> bytes(std::min<std::uint64_t>(notes.p_memsz, kMaxNotes));
  if (!target.read(attach::Addr{load_bias + notes.p_vaddr}, bytes)) {
    return {};
  }
  return build_id_of_notes(bytes, notes.p_align);
}

}  // namespace

Result<MappedHeader> read_mapped_header(const attach::Target& target,
                                        const attach::Mapping& first) {
  const attach::Addr start{first.start};
  ODDRANK_TRY(const auto header, attach::read_object<Elf64_Ehdr>(target, start));
  ODDRANK_TRY_STATUS(check_header(header, first));
  std::vector<Elf64_Phdr> segments(header.e_phnum);
  ODDRANK_TRY_STATUS(
      target.read(start + header.e_phoff, std::as_writable_bytes(std::span(segments))));

  const auto loaded = std::find_if(segments.begin(), segments.end(), [](const Elf64_Phdr& one) {
    return one.p_type == PT_LOAD && one.p_offset < 4096;
  });
  if (loaded == segments.end()) {
    return fail(Errc::kBadData, "no loadable segment in memory of " + first.path);
  }
  MappedHeader mapped;
  mapped.load_bias = first.start - (loaded->p_vaddr - loaded->p_offset);
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type == PT_GNU_EH_FRAME) {
      mapped.eh_frame_hdr = ElfRange{segment.p_vaddr, segment.p_memsz};
    } else if (segment.p_type == PT_DYNAMIC) {
      mapped.dynamic = ElfRange{segment.p_vaddr, segment.p_memsz};
    } else if (segment.p_type == PT_NOTE && mapped.build_id.empty()) {
      mapped.build_id = read_build_id(target, segment, mapped.load_bias);
    }
  }
  return mapped;
}

}  // namespace oddrank::elf
