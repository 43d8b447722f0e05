#include "attach/core/core_file.h"

#include <elf.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "attach/core/core_bytes.h"
#include "attach/files/open_path.h"
#include "base/machine.h"

namespace oddrank::attach {
namespace {

// vm.max_map_count is 65530 as a rule, a million on some database hosts.
constexpr std::uint64_t kMaxSegments = std::uint64_t{1} << 22;

struct Packing {
  std::string_view magic;
  std::string_view name;
  std::string_view command;
};

constexpr std::array kPackings = {
    Packing{"\x28\xb5\x2f\xfd", "zstd", "zstd -d"}, Packing{"\x04\x22\x4d\x18", "lz4", "lz4 -d"},
    Packing{"\x1f\x8b", "gzip", "gunzip -k"}, Packing{"\xfd\x37zXZ", "xz", "xz -dk"},
    Packing{"BZh", "bzip2", "bunzip2 -k"}};

Status check_packing(std::span<const std::byte> bytes, const std::string& path) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()),
                              std::min<std::size_t>(bytes.size(), 8));
  for (const Packing& packing : kPackings) {
    if (text.starts_with(packing.magic)) {
      return fail(Errc::kUnsupported, path + " is compressed (" + std::string(packing.name) + ")",
                  "decompress it first: " + std::string(packing.command) + " " + path +
                      "; for a core of systemd's: coredumpctl dump PID -o FILE");
    }
  }
  return ok();
}

std::string_view kind_of(std::uint16_t type) {
  switch (type) {
    case ET_REL:
      return "an object file";
    case ET_EXEC:
      return "a program";
    case ET_DYN:
      return "a program or library";
    default:
      return "an ELF file of another kind";
  }
}

Status check_header(const Elf64_Ehdr& header) {
  if (header.e_ident[EI_CLASS] == ELFCLASS32) {
    return fail(Errc::kUnsupported, "a 32-bit ELF file; only 64-bit ones can be read");
  }
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
      header.e_machine != elf_machine(kOurMachine)) {
    return fail(Errc::kUnsupported,
                "an ELF file of another machine than " + std::string(machine_name(kOurMachine)));
  }
  if (header.e_type != ET_CORE) {
    return fail(Errc::kUnsupported, "not a core file but " + std::string(kind_of(header.e_type)));
  }
  if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phoff < sizeof header) {
    return fail(Errc::kBadData, "damaged: its program headers cannot be found");
  }
  return ok();
}

// Returns a + b, or the largest number if that overflows.
std::uint64_t sum(std::uint64_t a, std::uint64_t b) {
  return a + b < a ? ~std::uint64_t{0} : a + b;
}

// Sorts the segments, and drops those that are empty or overlap.
void put_in_order(std::vector<CoreSegment>& segments) {
  std::stable_sort(segments.begin(), segments.end(),
                   [](const CoreSegment& a, const CoreSegment& b) { return a.start < b.start; });
  std::uint64_t last_end = 0;
  segments.erase(std::remove_if(segments.begin(), segments.end(),
                                [&last_end](const CoreSegment& segment) {
                                  if (segment.end <= segment.start || segment.start < last_end) {
                                    return true;
                                  }
                                  last_end = segment.end;
                                  return false;
                                }),
                 segments.end());
}

CoreSegment segment_of(const Elf64_Phdr& header) {
  CoreSegment segment;
  segment.start = header.p_vaddr;
  segment.end = sum(header.p_vaddr, header.p_memsz);
  segment.offset = header.p_offset;
  segment.written = std::min(header.p_filesz, segment.end - segment.start);
  segment.readable = (header.p_flags & PF_R) != 0;
  segment.writable = (header.p_flags & PF_W) != 0;
  segment.executable = (header.p_flags & PF_X) != 0;
  return segment;
}

// Returns how many program headers there are; nullopt if that is not known: then they go up to the
// first thing that one of them points to. `section`: the section header of index 0, at the end of
// the file, which has the number if it is large.
std::optional<std::uint64_t> count_headers(const Elf64_Ehdr& header,
                                           std::span<const std::byte> section) {
  if (header.e_phnum != PN_XNUM) {
    return header.e_phnum;
  }
  const auto first = front_of<Elf64_Shdr>(section);
  return first && first->sh_info != 0 ? std::optional<std::uint64_t>(first->sh_info) : std::nullopt;
}

}  // namespace

Result<CoreFile> CoreFile::open(const std::string& path) {
  ODDRANK_TRY(UniqueFd fd, open_regular(path));
  struct stat facts {};
  if (::fstat(fd.get(), &facts) != 0) {
    return fail(errno_code(errno), "cannot examine " + path + ": " + errno_text(errno));
  }
  auto mapped = MappedFile::map(std::move(fd));
  if (!mapped) {
    if (mapped.error().code == Errc::kBadData) {
      return fail(Errc::kBadData, path + " is empty",
                  "the disk was full, or the limit on core files (ulimit -c) was 0");
    }
    return fail(std::move(mapped).error().in(path));
  }
  CoreFile core(*std::move(mapped));
  core.owner_ = rights_of_owner(facts.st_uid, facts.st_gid);
  core.written_ = facts.st_mtim.tv_sec;
  ODDRANK_TRY_STATUS(check_packing(core.file_.span(), path));
  if (auto status = core.load(); !status) {
    return fail(std::move(status).error().in(path));
  }
  return core;
}

Status CoreFile::load() {
  const auto header = front_of<Elf64_Ehdr>(file_.span());
  if (file_.span().size() < SELFMAG || std::memcmp(file_.span().data(), ELFMAG, SELFMAG) != 0) {
    return fail(Errc::kUnsupported, "not a core file (not even an ELF file)");
  }
  if (!header) {
    return fail(Errc::kBadData, "cut within its first header");
  }
  ODDRANK_TRY_STATUS(check_header(*header));
  const std::optional<std::uint64_t> known =
      count_headers(*header, range(header->e_shoff, sizeof(Elf64_Shdr)));
  const std::uint64_t count = std::min(known.value_or(kMaxSegments), kMaxSegments);
  const auto table = range(header->e_phoff, count * sizeof(Elf64_Phdr));
  whole_size_ = known ? sum(header->e_phoff, count * sizeof(Elf64_Phdr)) : 0;
  std::uint64_t table_end = ~std::uint64_t{0};
  std::vector<Elf64_Phdr> notes;
  for (std::uint64_t at = 0;
       at + sizeof(Elf64_Phdr) <= table.size() && (known || header->e_phoff + at < table_end);
       at += sizeof(Elf64_Phdr)) {
    Elf64_Phdr segment{};
    std::memcpy(&segment, table.data() + at, sizeof segment);
    if (segment.p_type != PT_LOAD && segment.p_type != PT_NOTE) {
      continue;
    }
    if (segment.p_filesz != 0) {
      whole_size_ = std::max(whole_size_, sum(segment.p_offset, segment.p_filesz));
      table_end = std::min(table_end, segment.p_offset);
    }
    if (segment.p_type == PT_LOAD) {
      segments_.push_back(segment_of(segment));
    } else {
      notes.push_back(segment);
    }
  }
  put_in_order(segments_);
  for (const Elf64_Phdr& note : notes) {
    read_core_notes(range(note.p_offset, note.p_filesz), note.p_align, notes_);
  }
  if (notes_.threads.empty()) {
    return fail(Errc::kBadData, truncated() ? "cut before its threads: nothing can be read"
                                            : "damaged: there are no threads in it");
  }
  return ok();
}

std::span<const std::byte> CoreFile::range(std::uint64_t offset, std::uint64_t size) const {
  const auto all = file_.span();
  if (offset > all.size()) {
    return {};
  }
  return all.subspan(offset, std::min<std::uint64_t>(size, all.size() - offset));
}

const CoreSegment* CoreFile::find(std::uint64_t address) const {
  const auto after = std::upper_bound(
      segments_.begin(), segments_.end(), address,
      [](std::uint64_t value, const CoreSegment& segment) { return value < segment.start; });
  if (after == segments_.begin()) {
    return nullptr;
  }
  const CoreSegment& segment = *std::prev(after);
  return address < segment.end ? &segment : nullptr;
}

std::span<const std::byte> CoreFile::bytes_at(std::uint64_t address, std::uint64_t size) const {
  const CoreSegment* segment = find(address);
  if (segment == nullptr || address - segment->start >= segment->written) {
    return {};
  }
  const std::uint64_t into = address - segment->start;
  if (segment->offset + into < into) {
    return {};
  }
  return range(segment->offset + into, std::min(size, segment->written - into));
}

}  // namespace oddrank::attach
