// Debug information that would unpack to much more than its file has is not unpacked.
#include "elf/dwarf_scopes.h"

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "tests/support/catch.h"

namespace oddrank::elf {
namespace {

template <typename T>
void append(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// Returns a file with one section of debug information that says it unpacks to `size` bytes.
UniqueFd packed_file(const char* name, std::uint64_t size) {
  const bool old = std::strncmp(name, ".zdebug", 7) == 0;
  std::string section;
  if (old) {
    section = "ZLIB";
    for (int shift = 56; shift >= 0; shift -= 8) {
      section.push_back(static_cast<char>(size >> shift));
    }
  } else {
    Elf64_Chdr packed{};
    packed.ch_type = ELFCOMPRESS_ZLIB;
    packed.ch_size = size;
    packed.ch_addralign = 1;
    append(section, packed);
  }
  section += std::string(4000, 'x');
  const std::string names = std::string("\0.shstrtab\0", 11) + name + std::string(1, '\0');
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_DYN;
  header.e_machine = EM_X86_64;
  header.e_version = EV_CURRENT;
  header.e_ehsize = sizeof header;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 3;
  header.e_shstrndx = 1;
  header.e_shoff = sizeof header + names.size() + section.size();
  Elf64_Shdr strings{};
  strings.sh_name = 1;
  strings.sh_type = SHT_STRTAB;
  strings.sh_offset = sizeof header;
  strings.sh_size = names.size();
  Elf64_Shdr debug{};
  debug.sh_name = 11;
  debug.sh_type = SHT_PROGBITS;
  debug.sh_flags = old ? 0 : SHF_COMPRESSED;
  debug.sh_offset = sizeof header + names.size();
  debug.sh_size = section.size();
  debug.sh_addralign = 1;
  std::string bytes;
  append(bytes, header);
  bytes += names + section;
  append(bytes, Elf64_Shdr{});
  append(bytes, strings);
  append(bytes, debug);
  UniqueFd fd(::memfd_create("packed", MFD_CLOEXEC));
  REQUIRE(::write(fd.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  return fd;
}

TEST_CASE("compressed debug information is not unpacked if it would take too much memory") {
  for (const char* name : {".debug_info", ".zdebug_info"}) {
    for (const std::uint64_t size : {std::uint64_t{1} << 32, ~std::uint64_t{0}}) {
      const auto refused = DwarfFile::open(packed_file(name, size));
      REQUIRE_FALSE(refused);
      CHECK(refused.error().what.find("more memory than a file of its size") != std::string::npos);
    }
    // A usual size is libdw's business; this one holds nothing.
    const auto other = DwarfFile::open(packed_file(name, 20000));
    REQUIRE_FALSE(other);
    CHECK(other.error().code == Errc::kNotFound);
  }
}

}  // namespace
}  // namespace oddrank::elf
