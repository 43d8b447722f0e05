#include "elf/dwarf_scopes.h"

#include <dwarf.h>
#include <gelf.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include <elfutils/libdw.h>

#include "elf/elf_handle.h"

namespace oddrank::elf {
namespace {

using Addresses = std::vector<std::uint64_t>;  // sorted

// Entries read between two checks of the clock, and at most in one unit: a damaged file may
// describe a cycle.
constexpr std::size_t kBetweenLooks = 4096;
constexpr std::size_t kMaxEntries = std::size_t{1} << 26;
// Maximum ranges of one entry.
constexpr std::size_t kMaxRanges = std::size_t{1} << 20;
constexpr int kMaxDepth = 128;
constexpr std::size_t kMaxScopeName = std::size_t{16} << 10;
constexpr std::size_t kMaxPath = 4096;

// Compressed debug information is unpacked into memory. Real sections have a tenth of their size
// when packed; zeros have a thousandth.
constexpr std::uint64_t kMaxUnpackedTimes = 16;  // the size of the file
constexpr std::uint64_t kMaxUnpackedAnyway = std::uint64_t{16} << 20;
constexpr std::uint64_t kMaxUnpacked = std::uint64_t{2} << 30;

// Returns what libdw would unpack a section to, by the section's own header; 0 if it is not
// compressed. Before SHF_COMPRESSED, sections named .zdebug_* began with "ZLIB" and the size.
std::uint64_t unpacked_size(Elf* elf, std::size_t names, Elf_Scn* section) {
  GElf_Shdr header{};
  GElf_Chdr packed{};
  if (::gelf_getshdr(section, &header) == nullptr || header.sh_type == SHT_NOBITS) {
    return 0;
  }
  if ((header.sh_flags & SHF_COMPRESSED) != 0) {
    return ::gelf_getchdr(section, &packed) == nullptr ? 0 : packed.ch_size;
  }
  const char* name = ::elf_strptr(elf, names, header.sh_name);
  if (name == nullptr || !std::string_view(name).starts_with(".zdebug")) {
    return 0;
  }
  const Elf_Data* data = ::elf_rawdata(section, nullptr);
  constexpr std::size_t kHead = 12;
  if (data == nullptr || data->d_buf == nullptr || data->d_size < kHead) {
    return 0;
  }
  std::uint64_t size = 0;
  for (std::size_t i = 4; i < kHead; ++i) {
    size = size << 8 | static_cast<const unsigned char*>(data->d_buf)[i];
  }
  return size;
}

// Returns whether unpacking all sections stays within what the size of the file allows.
bool unpacks_within_bounds(Elf* elf) {
  std::size_t file_size = 0;
  std::size_t names = 0;
  if (::elf_rawfile(elf, &file_size) == nullptr || ::elf_getshdrstrndx(elf, &names) != 0) {
    return true;  // no sections
  }
  const std::uint64_t limit =
      std::min(kMaxUnpacked, kMaxUnpackedAnyway + file_size * kMaxUnpackedTimes);
  std::uint64_t all = 0;
  Elf_Scn* section = nullptr;
  while ((section = ::elf_nextscn(elf, section)) != nullptr) {
    const std::uint64_t size = unpacked_size(elf, names, section);
    if (size > limit || (all += size) > limit) {
      return false;
    }
  }
  return true;
}

struct DwarfEnd {
  void operator()(Dwarf* dwarf) const { ::dwarf_end(dwarf); }
};
std::string cut(const char* text, std::size_t limit) {
  return text == nullptr ? std::string() : std::string(text, ::strnlen(text, limit));
}

// Returns the `addresses` that the entry's code covers.
Addresses covered(Dwarf_Die& entry, const Addresses& addresses) {
  std::vector<bool> is_inside(addresses.size());
  Dwarf_Addr base = 0;
  Dwarf_Addr start = 0;
  Dwarf_Addr end = 0;
  std::ptrdiff_t next = 0;
  for (std::size_t i = 0; i < kMaxRanges; ++i) {
    next = ::dwarf_ranges(&entry, next, &base, &start, &end);
    if (next <= 0) {
      break;
    }
    for (auto at = std::lower_bound(addresses.begin(), addresses.end(), start);
         at != addresses.end() && *at < end; ++at) {
      is_inside[static_cast<std::size_t>(at - addresses.begin())] = true;
    }
  }
  Addresses inside;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    if (is_inside[i]) {
      inside.push_back(addresses[i]);
    }
  }
  return inside;
}

std::string name_of(Dwarf_Die& function) {
  for (const unsigned name : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name}) {
    Dwarf_Attribute attribute{};
    if (::dwarf_attr_integrate(&function, name, &attribute) != nullptr) {
      if (const char* text = ::dwarf_formstring(&attribute); text != nullptr) {
        return cut(text, kMaxScopeName);
      }
    }
  }
  return cut(::dwarf_diename(&function), kMaxScopeName);
}

std::optional<Dwarf_Word> number(Dwarf_Die& entry, unsigned name) {
  Dwarf_Attribute attribute{};
  Dwarf_Word value = 0;
  if (::dwarf_attr(&entry, name, &attribute) == nullptr ||
      ::dwarf_formudata(&attribute, &value) != 0) {
    return std::nullopt;
  }
  return value;
}

bool is_function_tag(int tag) {
  return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
}

// Functions are nested in these: clang's in their namespace, Rust's in their type.
bool is_around_functions(int tag) {
  return tag == DW_TAG_namespace || tag == DW_TAG_module || tag == DW_TAG_structure_type ||
         tag == DW_TAG_class_type || tag == DW_TAG_union_type || tag == DW_TAG_enumeration_type;
}

// Walks over one compilation unit once and notes which functions contain each address.
class UnitWalk {
 public:
  UnitWalk(Dwarf_Die unit, const std::function<bool()>& out_of_time)
      : unit_(unit), out_of_time_(out_of_time) {}

  void run(const Addresses& addresses, std::map<std::uint64_t, SourceScopes>& found);

 private:
  void visit_children(Dwarf_Die& parent, const Addresses& addresses, int depth);
  void visit(Dwarf_Die& entry, const Addresses& addresses, int depth);
  bool is_over();
  SourceScopes scopes(std::uint64_t address, std::vector<Dwarf_Die>& functions);
  SourceScope call_site(Dwarf_Die& inlined);

  Dwarf_Die unit_;
  const std::function<bool()>& out_of_time_;
  std::size_t entries_ = 0;
  bool over_ = false;
  std::map<std::uint64_t, std::vector<Dwarf_Die>> functions_;  // outermost first
};

bool UnitWalk::is_over() {
  ++entries_;
  over_ = over_ || entries_ > kMaxEntries || (entries_ % kBetweenLooks == 0 && out_of_time_());
  return over_;
}

void UnitWalk::visit(Dwarf_Die& entry, const Addresses& addresses, int depth) {
  const int tag = ::dwarf_tag(&entry);
  if (is_around_functions(tag)) {
    visit_children(entry, addresses, depth + 1);
    return;
  }
  if (!is_function_tag(tag) && tag != DW_TAG_lexical_block) {
    return;
  }
  const Addresses inside = covered(entry, addresses);
  if (inside.empty()) {
    return;
  }
  if (is_function_tag(tag)) {
    for (const std::uint64_t address : inside) {
      functions_[address].push_back(entry);
    }
  }
  visit_children(entry, inside, depth + 1);
}

void UnitWalk::visit_children(Dwarf_Die& parent, const Addresses& addresses, int depth) {
  Dwarf_Die entry{};
  if (depth > kMaxDepth || ::dwarf_child(&parent, &entry) != 0) {
    return;
  }
  do {
    visit(entry, addresses, depth);
  } while (!is_over() && ::dwarf_siblingof(&entry, &entry) == 0);
}

SourceScope UnitWalk::call_site(Dwarf_Die& inlined) {
  SourceScope site;
  site.line = static_cast<std::uint32_t>(number(inlined, DW_AT_call_line).value_or(0));
  const auto index = number(inlined, DW_AT_call_file);
  Dwarf_Files* files = nullptr;
  std::size_t count = 0;
  if (index && ::dwarf_getsrcfiles(&unit_, &files, &count) == 0 && *index < count) {
    site.file = cut(::dwarf_filesrc(files, *index, nullptr, nullptr), kMaxPath);
  }
  return site;
}

// A function's own place is where the next inner one was called, so places are offset by one from
// names. `functions` come outermost first; the result is innermost first.
SourceScopes UnitWalk::scopes(std::uint64_t address, std::vector<Dwarf_Die>& functions) {
  SourceScope place;
  if (Dwarf_Line* line = ::dwarf_getsrc_die(&unit_, address); line != nullptr) {
    int at = 0;
    place.line = ::dwarf_lineno(line, &at) == 0 ? static_cast<std::uint32_t>(std::max(at, 0)) : 0;
    place.file = cut(::dwarf_linesrc(line, nullptr, nullptr), kMaxPath);
  }
  SourceScopes result;
  result.reserve(functions.size());
  std::reverse(functions.begin(), functions.end());
  for (Dwarf_Die& function : functions) {
    place.function = name_of(function);
    result.push_back(std::move(place));
    place =
        ::dwarf_tag(&function) == DW_TAG_inlined_subroutine ? call_site(function) : SourceScope{};
  }
  return result;
}

void UnitWalk::run(const Addresses& addresses, std::map<std::uint64_t, SourceScopes>& found) {
  visit_children(unit_, addresses, 0);
  for (auto& [address, functions] : functions_) {
    found.emplace(address, scopes(address, functions));
  }
}

}  // namespace

struct DwarfFile::Impl {
  ElfHandle elf;
  std::unique_ptr<Dwarf, DwarfEnd> dwarf;  // borrows elf

  // The unit of each address that the index of the file knows (.debug_aranges; clang writes none).
  std::map<Dwarf_Off, Addresses> units_by_index(Addresses& wanted) const;
};

std::map<Dwarf_Off, Addresses> DwarfFile::Impl::units_by_index(Addresses& wanted) const {
  std::map<Dwarf_Off, Addresses> units;
  Dwarf_Aranges* ranges = nullptr;
  std::size_t count = 0;
  if (::dwarf_getaranges(dwarf.get(), &ranges, &count) != 0) {
    return units;
  }
  Addresses unknown;
  for (const std::uint64_t address : wanted) {
    Dwarf_Arange* range = ::dwarf_getarange_addr(ranges, address);
    Dwarf_Off offset = 0;
    if (range != nullptr && ::dwarf_getarangeinfo(range, nullptr, nullptr, &offset) == 0) {
      units[offset].push_back(address);
    } else {
      unknown.push_back(address);
    }
  }
  wanted = std::move(unknown);
  return units;
}

DwarfFile::DwarfFile(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
DwarfFile::DwarfFile(DwarfFile&&) noexcept = default;
DwarfFile& DwarfFile::operator=(DwarfFile&&) noexcept = default;
DwarfFile::~DwarfFile() = default;

Result<DwarfFile> DwarfFile::open(const UniqueFd& fd) {
  auto impl = std::make_unique<Impl>();
  if (::elf_version(EV_CURRENT) == EV_NONE) {
    return fail(Errc::kUnsupported, "libelf is too old");
  }
  // By its fd, not as bytes in memory: libdw unpacks compressed sections in place otherwise.
  impl->elf.reset(::elf_begin(fd.get(), ELF_C_READ_MMAP, nullptr));
  if (impl->elf && !unpacks_within_bounds(impl->elf.get())) {
    return fail(Errc::kBadData,
                "its compressed debug information would take more memory than a file of its size "
                "may");
  }
  if (impl->elf) {
    impl->dwarf.reset(::dwarf_begin_elf(impl->elf.get(), DWARF_C_READ, nullptr));
  }
  Dwarf_CU* unit = nullptr;
  if (!impl->dwarf || ::dwarf_get_units(impl->dwarf.get(), nullptr, &unit, nullptr, nullptr,
                                        nullptr, nullptr) != 0) {
    return fail(Errc::kNotFound, "no DWARF in the file");
  }
  return DwarfFile(std::move(impl));
}

std::map<std::uint64_t, SourceScopes> DwarfFile::scopes_of(
    const std::set<std::uint64_t>& addresses, const std::function<bool()>& out_of_time) const {
  std::map<std::uint64_t, SourceScopes> found;
  Addresses wanted(addresses.begin(), addresses.end());
  for (const auto& [offset, inside] : impl_->units_by_index(wanted)) {
    Dwarf_Die entry{};
    if (out_of_time() || ::dwarf_offdie(impl_->dwarf.get(), offset, &entry) == nullptr) {
      continue;
    }
    UnitWalk(entry, out_of_time).run(inside, found);
  }
  Dwarf_CU* unit = nullptr;
  Dwarf_Die entry{};
  while (!wanted.empty() && !out_of_time() &&
         ::dwarf_get_units(impl_->dwarf.get(), unit, &unit, nullptr, nullptr, &entry, nullptr) ==
             0) {
    const Addresses inside = covered(entry, wanted);
    if (!inside.empty()) {
      UnitWalk(entry, out_of_time).run(inside, found);
    }
  }
  return found;
}

}  // namespace oddrank::elf
