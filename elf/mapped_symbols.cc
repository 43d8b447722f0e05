#include "elf/mapped_symbols.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <span>
#include <string_view>

#include "base/machine.h"
#include "base/parse_number.h"
#include "elf/mapped_header.h"

namespace oddrank::elf {
namespace {

using attach::Addr;
using attach::Target;

constexpr std::uint64_t kMaxDynamic = 4096;  // entries
constexpr std::uint64_t kMaxSymbols = std::uint64_t{1} << 22;
constexpr std::uint64_t kMaxNameBytes = std::uint64_t{1} << 28;
constexpr std::uint32_t kMaxBuckets = 1U << 22;

Error bad(const Module& module, std::string_view what) {
  return Error{Errc::kBadData, std::string(what) + " in memory of " + module.path, {}};
}

// DT_ tag -> value. The dynamic linker adds the load bias to addresses in place; that is undone.
struct Dynamic {
  std::map<std::int64_t, std::uint64_t> values;
  std::uint64_t load_bias = 0;

  std::uint64_t value(std::int64_t tag) const;
  // In the target; 0 if there is none.
  std::uint64_t address(std::int64_t tag) const;
};

std::uint64_t Dynamic::value(std::int64_t tag) const {
  const auto found = values.find(tag);
  return found == values.end() ? 0 : found->second;
}

std::uint64_t Dynamic::address(std::int64_t tag) const {
  const std::uint64_t stored = value(tag);
  return stored == 0 || (load_bias != 0 && stored >= load_bias) ? stored : stored + load_bias;
}

Result<Dynamic> read_dynamic(const Target& target,
                             const Module& module,
                             const MappedHeader& header) {
  if (!header.dynamic) {
    return fail(Errc::kNotFound, module.path + " has no dynamic symbols");
  }
  std::vector<Elf64_Dyn> entries(std::min(header.dynamic->size / sizeof(Elf64_Dyn), kMaxDynamic));
  ODDRANK_TRY_STATUS(target.read(Addr{header.load_bias + header.dynamic->address},
                                 std::as_writable_bytes(std::span(entries))));
  Dynamic dynamic;
  dynamic.load_bias = header.load_bias;
  for (const Elf64_Dyn& entry : entries) {
    if (entry.d_tag == DT_NULL) {
      break;
    }
    dynamic.values.emplace(entry.d_tag, entry.d_un.d_val);
  }
  return dynamic;
}

// The table does not say how long it is, but its hash tables do. With DT_GNU_HASH, the last symbol
// is the end of the chain of the highest bucket.
Result<std::uint64_t> count_by_gnu_hash(const Target& target,
                                        const Module& module,
                                        std::uint64_t table) {
  ODDRANK_TRY(const auto head,
              (attach::read_object<std::array<std::uint32_t, 4>>(target, Addr{table})));
  const auto [bucket_count, first_symbol, bloom_words, bloom_shift] = head;
  if (bucket_count == 0 || bucket_count > kMaxBuckets || bloom_words > kMaxBuckets) {
    return fail(bad(module, "damaged hash table of symbols"));
  }
  const std::uint64_t buckets_at = table + sizeof head + std::uint64_t{bloom_words} * 8;
  std::vector<std::uint32_t> buckets(bucket_count);
  ODDRANK_TRY_STATUS(target.read(Addr{buckets_at}, std::as_writable_bytes(std::span(buckets))));
  const std::uint32_t last = *std::max_element(buckets.begin(), buckets.end());
  if (last < first_symbol) {
    return std::uint64_t{first_symbol};
  }
  const std::uint64_t chains_at = buckets_at + buckets.size() * sizeof(std::uint32_t);
  for (std::uint64_t symbol = last; symbol < kMaxSymbols; ++symbol) {
    const Addr at{chains_at + (symbol - first_symbol) * sizeof(std::uint32_t)};
    ODDRANK_TRY(const auto hash, attach::read_object<std::uint32_t>(target, at));
    if ((hash & 1U) != 0) {
      return symbol + 1;
    }
  }
  return fail(bad(module, "endless hash table of symbols"));
}

Result<std::uint64_t> count_symbols(const Target& target,
                                    const Module& module,
                                    const Dynamic& dynamic) {
  if (const std::uint64_t table = dynamic.address(DT_HASH); table != 0) {
    ODDRANK_TRY(const auto head,
                (attach::read_object<std::array<std::uint32_t, 2>>(target, Addr{table})));
    return std::uint64_t{head[1]};  // one link for each symbol
  }
  if (const std::uint64_t table = dynamic.address(DT_GNU_HASH); table != 0) {
    return count_by_gnu_hash(target, module, table);
  }
  return fail(Errc::kNotFound, module.path + " has no hash table of symbols");
}

std::vector<std::byte> build_id_note(const std::string& build_id) {
  const std::size_t size = build_id.size() / 2;
  std::vector<std::byte> note(sizeof(Elf64_Nhdr) + 4 + (size + 3) / 4 * 4);
  const Elf64_Nhdr header{4, static_cast<Elf64_Word>(size), NT_GNU_BUILD_ID};
  std::memcpy(note.data(), &header, sizeof header);
  std::memcpy(note.data() + sizeof header, "GNU", 4);
  for (std::size_t i = 0; i < size; ++i) {
    const auto byte = parse_number<std::uint8_t>(std::string_view(build_id).substr(i * 2, 2), 16);
    note[sizeof header + 4 + i] = std::byte{byte.value_or(0)};
  }
  return note;
}

// Writes sections one after the other, and their headers at the end.
class FileWriter {
 public:
  FileWriter() : bytes_(sizeof(Elf64_Ehdr)), headers_(1) {}

  void add(std::string_view name, Elf64_Word type, std::span<const std::byte> content);

  std::vector<std::byte> finish();

 private:
  std::vector<std::byte> bytes_;
  std::vector<Elf64_Shdr> headers_;
  std::string names_ = std::string(1, '\0');
};

void FileWriter::add(std::string_view name, Elf64_Word type, std::span<const std::byte> content) {
  bytes_.resize((bytes_.size() + 7) / 8 * 8);
  Elf64_Shdr header{};
  header.sh_name = static_cast<Elf64_Word>(names_.size());
  header.sh_type = type;
  header.sh_offset = bytes_.size();
  header.sh_size = content.size();
  header.sh_addralign = type == SHT_NOTE ? 4 : 8;
  if (type == SHT_DYNSYM) {
    header.sh_entsize = sizeof(Elf64_Sym);
    header.sh_link = static_cast<Elf64_Word>(headers_.size() + 1);  // its names come next
  }
  headers_.push_back(header);
  names_ += name;
  names_ += '\0';
  bytes_.insert(bytes_.end(), content.begin(), content.end());
}

std::vector<std::byte> FileWriter::finish() {
  add(".shstrtab", SHT_STRTAB, {});
  headers_.back().sh_size = names_.size();
  const auto names = std::as_bytes(std::span(names_));
  bytes_.insert(bytes_.end(), names.begin(), names.end());
  bytes_.resize((bytes_.size() + 7) / 8 * 8);
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_DYN;
  header.e_machine = elf_machine(kOurMachine);
  header.e_version = EV_CURRENT;
  header.e_ehsize = sizeof header;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shoff = bytes_.size();
  header.e_shnum = static_cast<Elf64_Half>(headers_.size());
  header.e_shstrndx = static_cast<Elf64_Half>(headers_.size() - 1);
  std::memcpy(bytes_.data(), &header, sizeof header);
  const auto headers = std::as_bytes(std::span(headers_));
  bytes_.insert(bytes_.end(), headers.begin(), headers.end());
  return std::move(bytes_);
}

}  // namespace

Result<std::vector<std::byte>> copy_mapped_symbols(const Target& target, const Module& module) {
  if (module.path == "[vdso]") {
    std::vector<std::byte> image(std::min(module.end - module.start, kMaxVdso));
    ODDRANK_TRY_STATUS(target.read(Addr{module.start}, image));
    return image;
  }
  if (module.mapping->file_offset != 0) {
    return fail(Errc::kNotFound, "the header of " + module.path + " is not mapped");
  }
  ODDRANK_TRY(const auto header, read_mapped_header(target, *module.mapping));
  ODDRANK_TRY(const auto dynamic, read_dynamic(target, module, header));
  ODDRANK_TRY(const auto count, count_symbols(target, module, dynamic));
  const std::uint64_t names_size = dynamic.value(DT_STRSZ);
  if (count > kMaxSymbols || names_size > kMaxNameBytes ||
      dynamic.value(DT_SYMENT) != sizeof(Elf64_Sym)) {
    return fail(bad(module, "damaged table of symbols"));
  }
  std::vector<std::byte> symbols(count * sizeof(Elf64_Sym));
  ODDRANK_TRY_STATUS(target.read(Addr{dynamic.address(DT_SYMTAB)}, symbols));
  std::vector<std::byte> names(names_size);
  ODDRANK_TRY_STATUS(target.read(Addr{dynamic.address(DT_STRTAB)}, names));
  FileWriter file;
  file.add(".dynsym", SHT_DYNSYM, symbols);
  file.add(".dynstr", SHT_STRTAB, names);
  file.add(".note.gnu.build-id", SHT_NOTE, build_id_note(header.build_id));
  return file.finish();
}

}  // namespace oddrank::elf
