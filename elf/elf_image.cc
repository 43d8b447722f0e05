#include "elf/elf_image.h"

#include <fcntl.h>
#include <gelf.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <utility>

#include "base/elf_notes.h"
#include "base/machine.h"
#include "elf/elf_handle.h"
#include "elf/elf_range.h"
#include "elf/symbol_table.h"

namespace oddrank::elf {
namespace {

// More than any real file has; a damaged header may claim 2^32.
constexpr std::size_t kMaxFileSegments = 4096;
constexpr std::size_t kMaxSections = 100000;
constexpr std::size_t kLargeTable = 65536;  // symbols; 1.5 MiB without names

struct Section {
  std::string_view name;  // into the file
  ElfRange range;
};

Error elf_error(const std::string& what) {
  const char* text = ::elf_errmsg(-1);
  return Error{
      Errc::kBadData, what + (text != nullptr ? std::string(": ") + text : std::string()), {}};
}

}  // namespace

struct ElfImage::Impl {
  class NameBlock;

  explicit Impl(FileBytes all) : bytes(std::move(all)) {}

  FileBytes bytes;
  UniqueFd file;  // of `bytes`; only if a table is large
  ElfHandle elf;  // borrows from bytes
  std::string build_id;
  std::uint64_t entry = 0;
  std::vector<ElfSegment> segments;
  std::vector<Section> sections;
  std::optional<ElfRange> eh_frame_hdr;
  std::vector<SymbolTable> tables;  // .dynsym first; may borrow from elf

  Status load();
  Status load_header();
  Status load_segments();
  void load_sections();
  void load_section(Elf_Scn* section, std::size_t names_index);
  std::optional<SymbolTable> symbol_table(Elf_Scn* section, const GElf_Shdr& header) const;
  std::span<const std::byte> file_range(std::uint64_t offset, std::uint64_t size) const;
  bool has_large_table() const;
  // Returns where in the file mapped bytes are; nullopt if they are not, or it has no large table.
  std::optional<off_t> offset_of(std::span<const std::byte> mapped) const;
  // Returns some of the symbols: a copy in `room`, which is not empty, or else the mapped ones.
  SymbolTable fetched(const SymbolTable& mapped, std::vector<Elf64_Sym>& room) const;
  // Calls `visit` with parts of all tables; a part is valid until `visit` returns. The pages of
  // large tables do not stay in memory: the symbols of a library, with their names, take up to
  // hundreds of megabytes. Their symbols are copied: bringing a page into a mapping takes longer.
  template <typename Visit>
  void visit_symbols(Visit visit) const;
  template <typename Visit>
  void visit_large(const SymbolTable& table, Visit visit) const;
};

bool ElfImage::Impl::has_large_table() const {
  return std::any_of(tables.begin(), tables.end(),
                     [](const SymbolTable& table) { return table.symbols().size() > kLargeTable; });
}

std::optional<off_t> ElfImage::Impl::offset_of(std::span<const std::byte> mapped) const {
  const auto all = bytes.span();
  // libelf copies a table that is not aligned, and returns all others in place.
  const std::less_equal<> not_after;
  const bool in_file = file.valid() && not_after(all.data(), mapped.data()) &&
                       not_after(mapped.data() + mapped.size(), all.data() + all.size());
  return in_file ? std::optional<off_t>(mapped.data() - all.data()) : std::nullopt;
}

SymbolTable ElfImage::Impl::fetched(const SymbolTable& mapped, std::vector<Elf64_Sym>& room) const {
  const auto symbols = std::as_bytes(mapped.symbols());
  const auto offset = offset_of(symbols);
  return offset && ::pread(file.get(), room.data(), symbols.size(), *offset) ==
                       static_cast<ssize_t>(symbols.size())
             ? mapped.with(std::span(room).first(mapped.symbols().size()))
             : mapped;
}

template <typename Visit>
void ElfImage::Impl::visit_large(const SymbolTable& table, Visit visit) const {
  constexpr std::size_t kCopied = 8192;  // symbols; 192 KiB, which the next cache holds
  std::vector<Elf64_Sym> room(kCopied);
  for (std::size_t first = 0; first < table.symbols().size(); first += kCopied) {
    const SymbolTable part = fetched(table.part(first, kCopied), room);
    visit(part);
    if ((first + kCopied) % kLargeTable == 0 && part.symbols().data() != room.data()) {
      bytes.forget_pages();
    }
  }
  bytes.forget_pages();
}

// Copies names of a large table from the file, block by block: they are spread over tens of
// megabytes, and each page that is brought into the mapping brings fifteen others with it.
class ElfImage::Impl::NameBlock {
 public:
  explicit NameBlock(const Impl& image) : image_(image) {}
  std::string_view text(std::string_view mapped);

 private:
  static constexpr off_t kAligned = 4096;
  static constexpr off_t kBehind = 256;  // of a name that begins in the block

  const Impl& image_;
  std::array<char, kAligned + kBehind> bytes_{};
  off_t start_ = 0;
  off_t size_ = 0;
};

std::string_view ElfImage::Impl::NameBlock::text(std::string_view mapped) {
  const auto offset = image_.offset_of(std::as_bytes(std::span(mapped)));
  const auto size = static_cast<off_t>(mapped.size());
  if (!offset || size > kBehind) {
    return mapped;
  }
  if (*offset < start_ || *offset + size > start_ + size_) {
    start_ = *offset - *offset % kAligned;
    size_ = std::max<off_t>(::pread(image_.file.get(), bytes_.data(), bytes_.size(), start_), 0);
  }
  return *offset + size <= start_ + size_
             ? std::string_view(bytes_.data() + (*offset - start_), mapped.size())
             : mapped;
}

template <typename Visit>
void ElfImage::Impl::visit_symbols(Visit visit) const {
  for (const SymbolTable& table : tables) {
    if (table.symbols().size() > kLargeTable) {
      visit_large(table, visit);
    } else {
      visit(table);
    }
  }
}

std::span<const std::byte> ElfImage::Impl::file_range(std::uint64_t offset,
                                                      std::uint64_t size) const {
  const auto all = bytes.span();
  if (offset > all.size() || size > all.size() - offset) {
    return {};
  }
  return all.subspan(offset, size);
}

Status ElfImage::Impl::load() {
  if (::elf_version(EV_CURRENT) == EV_NONE) {
    return fail(elf_error("libelf is too old"));
  }
  const auto all = bytes.span();
  // libelf takes a mutable image, but never writes to one passed this way.
  elf.reset(::elf_memory(reinterpret_cast<char*>(const_cast<std::byte*>(all.data())), all.size()));
  if (!elf) {
    return fail(elf_error("not an ELF file"));
  }
  ODDRANK_TRY_STATUS(load_header());
  ODDRANK_TRY_STATUS(load_segments());
  load_sections();
  return ok();
}

Status ElfImage::Impl::load_header() {
  GElf_Ehdr header{};
  if (::elf_kind(elf.get()) != ELF_K_ELF || ::gelf_getehdr(elf.get(), &header) == nullptr) {
    return fail(elf_error("not an ELF file"));
  }
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
      header.e_machine != elf_machine(kOurMachine)) {
    return fail(Errc::kUnsupported,
                "an ELF file of another machine than " + std::string(machine_name(kOurMachine)));
  }
  entry = header.e_entry;
  return ok();
}

Status ElfImage::Impl::load_segments() {
  std::size_t count = 0;
  if (::elf_getphdrnum(elf.get(), &count) != 0) {
    return fail(elf_error("damaged program headers"));
  }
  for (std::size_t i = 0; i < std::min(count, kMaxFileSegments); ++i) {
    GElf_Phdr header{};
    if (::gelf_getphdr(elf.get(), static_cast<int>(i), &header) == nullptr) {
      return fail(elf_error("damaged program headers"));
    }
    if (header.p_type == PT_LOAD) {
      segments.push_back({header.p_vaddr, header.p_memsz, header.p_offset, header.p_filesz,
                          (header.p_flags & PF_X) != 0, (header.p_flags & PF_W) != 0});
    } else if (header.p_type == PT_GNU_EH_FRAME) {
      eh_frame_hdr = ElfRange{header.p_vaddr, header.p_memsz};
    } else if (header.p_type == PT_NOTE && build_id.empty()) {
      build_id = build_id_of_notes(file_range(header.p_offset, header.p_filesz), header.p_align);
    }
  }
  return ok();
}

// A file whose section headers are damaged or gone still has segments: fewer symbols, no error.
void ElfImage::Impl::load_sections() {
  std::size_t count = 0;
  std::size_t names = 0;
  if (::elf_getshdrnum(elf.get(), &count) != 0 || count > kMaxSections ||
      ::elf_getshdrstrndx(elf.get(), &names) != 0) {
    return;
  }
  Elf_Scn* section = nullptr;
  while ((section = ::elf_nextscn(elf.get(), section)) != nullptr) {
    load_section(section, names);
  }
  std::stable_sort(tables.begin(), tables.end(), [](const SymbolTable& a, const SymbolTable& b) {
    return a.dynamic() && !b.dynamic();
  });
}

void ElfImage::Impl::load_section(Elf_Scn* section, std::size_t names_index) {
  GElf_Shdr header{};
  if (::gelf_getshdr(section, &header) == nullptr) {
    return;
  }
  const char* name = ::elf_strptr(elf.get(), names_index, header.sh_name);
  const std::string_view view = name != nullptr ? name : "";
  if (header.sh_addr != 0) {
    sections.push_back({view, {header.sh_addr, header.sh_size}});
  }
  if (header.sh_type == SHT_NOTE && view == ".note.gnu.build-id") {
    // Separate debug files keep this section, while their PT_NOTE may point anywhere.
    auto id = build_id_of_notes(file_range(header.sh_offset, header.sh_size), header.sh_addralign);
    if (!id.empty()) {
      build_id = std::move(id);
    }
  }
  if (header.sh_type == SHT_DYNSYM || header.sh_type == SHT_SYMTAB) {
    if (auto table = symbol_table(section, header)) {
      tables.push_back(*table);
    }
  }
}

std::optional<SymbolTable> ElfImage::Impl::symbol_table(Elf_Scn* section,
                                                        const GElf_Shdr& header) const {
  const Elf_Data* symbols = ::elf_getdata(section, nullptr);
  Elf_Scn* const linked = ::elf_getscn(elf.get(), header.sh_link);
  const Elf_Data* names = linked != nullptr ? ::elf_getdata(linked, nullptr) : nullptr;
  if (symbols == nullptr || symbols->d_buf == nullptr || names == nullptr ||
      names->d_buf == nullptr) {
    return std::nullopt;
  }
  return SymbolTable(
      std::span(static_cast<const Elf64_Sym*>(symbols->d_buf), symbols->d_size / sizeof(Elf64_Sym)),
      std::string_view(static_cast<const char*>(names->d_buf), names->d_size),
      header.sh_type == SHT_DYNSYM);
}

ElfImage::ElfImage(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ElfImage::ElfImage(ElfImage&&) noexcept = default;
ElfImage& ElfImage::operator=(ElfImage&&) noexcept = default;
ElfImage::~ElfImage() = default;

Result<ElfImage> ElfImage::open(UniqueFd fd) {
  UniqueFd file(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0));
  ODDRANK_TRY(auto bytes, FileBytes::map(std::move(fd)));
  auto impl = std::make_unique<Impl>(std::move(bytes));
  ODDRANK_TRY_STATUS(impl->load());
  if (impl->has_large_table()) {
    impl->file = std::move(file);
  }
  return ElfImage(std::move(impl));
}

Result<ElfImage> ElfImage::from_memory(std::vector<std::byte> bytes) {
  auto impl = std::make_unique<Impl>(FileBytes(std::move(bytes)));
  ODDRANK_TRY_STATUS(impl->load());
  return ElfImage(std::move(impl));
}

const std::string& ElfImage::build_id() const {
  return impl_->build_id;
}

const std::vector<ElfSegment>& ElfImage::segments() const {
  return impl_->segments;
}

std::optional<ElfRange> ElfImage::section(std::string_view name) const {
  for (const Section& section : impl_->sections) {
    if (section.name == name) {
      return section.range;
    }
  }
  return std::nullopt;
}

std::optional<ElfRange> ElfImage::eh_frame_hdr() const {
  return impl_->eh_frame_hdr;
}

std::optional<ElfRange> ElfImage::symbol(std::string_view name) const {
  for (const SymbolTable& table : impl_->tables) {
    if (auto found = table.find(name)) {
      return found;
    }
  }
  return std::nullopt;
}

std::vector<ElfRange> ElfImage::functions_with_prefix(std::string_view prefix) const {
  std::vector<ElfRange> found;
  impl_->visit_symbols([&](const SymbolTable& part) { part.append_functions(prefix, found); });
  const auto key = [](const ElfRange& range) { return std::pair(range.address, range.size); };
  std::sort(found.begin(), found.end(),
            [key](const ElfRange& a, const ElfRange& b) { return key(a) < key(b); });
  found.erase(std::unique(found.begin(), found.end(),
                          [key](const ElfRange& a, const ElfRange& b) { return key(a) == key(b); }),
              found.end());
  return found;
}

CodeRange ElfImage::code_around(std::uint64_t address) const {
  CodeRange found;
  impl_->visit_symbols([&](const SymbolTable& part) { part.narrow(address, found); });
  return found;
}

std::uint64_t ElfImage::entry() const {
  return impl_->entry;
}

bool ElfImage::has_own_symbols() const {
  return std::any_of(impl_->tables.begin(), impl_->tables.end(),
                     [](const SymbolTable& table) { return !table.dynamic(); });
}

void ElfImage::find_variables(VariableSearch& search) const {
  Impl::NameBlock names(*impl_);
  const auto text = [&names](std::string_view mapped) { return names.text(mapped); };
  impl_->visit_symbols([&](const SymbolTable& part) { part.append_variables(search, text); });
}

std::span<const std::byte> ElfImage::bytes_at(std::uint64_t address, std::uint64_t size) const {
  for (const ElfSegment& segment : impl_->segments) {
    if (address < segment.address || address - segment.address > segment.file_size) {
      continue;
    }
    const std::uint64_t into = address - segment.address;
    if (size > segment.file_size - into || segment.file_offset + into < into) {
      continue;
    }
    if (const auto bytes = impl_->file_range(segment.file_offset + into, size); !bytes.empty()) {
      return bytes;
    }
  }
  return {};
}

std::vector<std::string> ElfImage::names_of(std::span<const std::uint64_t> sorted_addresses,
                                            VariableSearch* search) const {
  SymbolSearch names(sorted_addresses);
  Impl::NameBlock block(*impl_);
  const auto text = [&block](std::string_view mapped) { return block.text(mapped); };
  impl_->visit_symbols([&](const SymbolTable& part) {
    names.visit(part);
    if (search != nullptr) {
      part.append_variables(*search, text);
    }
  });
  return names.names();
}

}  // namespace oddrank::elf
