#include "elf/elf_image.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "base/machine.h"
#include "tests/support/catch.h"
#include "tests/support/machine_code.h"
#include "tests/support/scratch_folder.h"
#include "tests/unit/elf/elf_samples.h"

namespace oddrank::elf {
namespace {

// Calls everything once. The answers do not matter, but no call may crash or run on.
std::size_t ask_everything(const ElfImage& image) {
  std::size_t seen = image.build_id().size();
  for (const ElfSegment& segment : image.segments()) {
    const auto bytes = image.bytes_at(segment.address, segment.file_size);
    if (!bytes.empty()) {
      seen +=
          std::to_integer<std::size_t>(bytes.front()) + std::to_integer<std::size_t>(bytes.back());
    }
  }
  seen += image.section(".text") ? 1U : 0U;
  seen += image.eh_frame_hdr() ? 1U : 0U;
  seen += image.symbol("main") ? 1U : 0U;
  seen += image.functions_with_prefix("_").size();
  const std::uint64_t addresses[] = {0, 0x1000, 0x1234, 0x2000, 0x4000, ~std::uint64_t{0}};
  for (const std::string& name : image.names_of(addresses)) {
    seen += name.size();
  }
  return seen;
}

TEST_CASE("elf_image: segments, sections and symbols of a program") {
  const auto image = test::open_image(test::sample_path());
  REQUIRE(image);
  REQUIRE_FALSE(image->segments().empty());
  const auto text = image->section(".text");
  REQUIRE(text);
  const auto main = image->symbol("main");
  REQUIRE(main);
  CHECK(main->size > 0);
  CHECK(main->address >= text->address);
  CHECK(main->address + main->size <= text->address + text->size);
  REQUIRE(image->eh_frame_hdr());
  CHECK(image->bytes_at(image->eh_frame_hdr()->address, 1).size() == 1);
  CHECK(std::any_of(image->segments().begin(), image->segments().end(),
                    [](const ElfSegment& one) { return one.executable && !one.writable; }));
}

TEST_CASE("elf_image: a symbol is found by its exact name only, and only if it is defined here") {
  const auto image = test::open_image(test::sample_path());
  REQUIRE(image);
  CHECK_FALSE(image->symbol("mai"));
  CHECK_FALSE(image->symbol("main2"));
  CHECK_FALSE(image->symbol(""));
  CHECK_FALSE(image->symbol("pthread_create"));
  CHECK_FALSE(image->functions_with_prefix("mai").empty());  // if optimized, main.cold as well
  CHECK(image->has_own_symbols());
  oddrank::elf::VariableSearch search{"no such variable", {8, 56}, {0, ~std::uint64_t{0}}, {}};
  image->find_variables(search);
  CHECK(search.found.empty());
}

TEST_CASE("elf_image: addresses have names inside a symbol's size and nowhere else") {
  const auto image = test::open_image(test::sample_path());
  REQUIRE(image);
  const auto main = image->symbol("main");
  REQUIRE(main);
  const std::vector<std::uint64_t> addresses = {
      1, main->address, main->address + 1, main->address + main->size - 1, std::uint64_t{1} << 40U};
  const auto names = image->names_of(addresses);
  REQUIRE(names.size() == addresses.size());
  CHECK(names == std::vector<std::string>{"", "main", "main", "main", ""});
  CHECK(image->names_of({}).empty());
}

TEST_CASE("elf_image: code lies in a function, or in the room between two") {
  const auto image = test::open_image(test::sample_path());
  REQUIRE(image);
  const auto main = image->symbol("main");
  REQUIRE(main);
  const CodeRange inside = image->code_around(main->address + 1);
  CHECK(inside.is_function);
  CHECK(inside.start == main->address);
  CHECK(inside.end == main->address + main->size);
  const CodeRange behind = image->code_around(std::uint64_t{1} << 40U);
  CHECK_FALSE(behind.is_function);
  CHECK(behind.start >= inside.end);
  CHECK(behind.end == UINT64_MAX);
  CHECK_FALSE(image->code_around(0).is_function);
  CHECK(image->entry() == image->symbol("_start")->address);
}

TEST_CASE("elf_image: bytes outside the segments are refused") {
  const auto image = test::open_image(test::sample_path());
  REQUIRE(image);
  const ElfSegment& first = image->segments().front();
  CHECK(image->bytes_at(first.address, first.file_size).size() == first.file_size);
  CHECK(image->bytes_at(first.address, first.file_size + 1).empty());
  CHECK(image->bytes_at(first.address + 1, ~std::uint64_t{0}).empty());
  CHECK(image->bytes_at(~std::uint64_t{0}, 8).empty());
}

TEST_CASE("elf_image: a file and its bytes in memory give the same image") {
  const auto file = test::open_image(test::sample_path());
  const auto memory = ElfImage::from_memory(test::bytes_of(test::sample_path()));
  REQUIRE(file);
  REQUIRE(memory);
  CHECK(file->build_id() == memory->build_id());
  CHECK(file->segments().size() == memory->segments().size());
  CHECK(ask_everything(*file) == ask_everything(*memory));
}

TEST_CASE("elf_image: a file that is no ELF file of this machine is refused with a reason") {
  CHECK_FALSE(ElfImage::open(UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC))));
  CHECK_FALSE(ElfImage::open(UniqueFd()));
  CHECK_FALSE(ElfImage::from_memory({}));
  const std::string script = "#!/bin/sh\nexit 0\n";
  const auto bytes = std::as_bytes(std::span(script));
  const auto no_elf = ElfImage::from_memory({bytes.begin(), bytes.end()});
  REQUIRE_FALSE(no_elf);
  CHECK(no_elf.error().code == Errc::kBadData);

  auto other = test::bytes_of(test::sample_path());
  other[offsetof(Elf64_Ehdr, e_machine)] = static_cast<std::byte>(elf_machine(test::kOtherMachine));
  const auto foreign = ElfImage::from_memory(other);
  REQUIRE_FALSE(foreign);
  CHECK(foreign.error().code == Errc::kUnsupported);
}

TEST_CASE("elf_image: a file cut anywhere gives an error or less, never a crash") {
  const auto whole = test::bytes_of(test::sample_path());
  REQUIRE(whole.size() > 4096);
  std::size_t opened = 0;
  const auto cut_at = [&](std::size_t size) {
    const auto image = ElfImage::from_memory({whole.begin(), whole.begin() + std::ptrdiff_t(size)});
    if (image) {
      ask_everything(*image);
      ++opened;
    }
  };
  for (std::size_t size = 0; size < 1024; ++size) {
    cut_at(size);
  }
  for (std::size_t size = 1024; size < whole.size(); size += 397) {
    cut_at(size);
  }
  CHECK(opened > 0);
}

TEST_CASE("elf_image: damaged bytes give an error or less, never a crash") {
  const auto whole = test::bytes_of(test::sample_path());
  Elf64_Ehdr header{};
  std::memcpy(&header, whole.data(), sizeof header);
  const auto damage = [&](std::size_t at, std::byte value) {
    auto bytes = whole;
    bytes[at] = value;
    if (const auto image = ElfImage::from_memory(std::move(bytes))) {
      ask_everything(*image);
    }
  };
  for (std::size_t at = 0; at < 1024; ++at) {  // headers of the file and its segments
    damage(at, std::byte{0xff});
    damage(at, ~whole[at]);
  }
  for (std::size_t at = header.e_shoff; at < whole.size(); ++at) {  // headers of the sections
    damage(at, std::byte{0xff});
  }
  std::mt19937 random(1);  // NOLINT(cert-msc51-cpp): the same bytes each time
  for (int i = 0; i < 1000; ++i) {
    damage(random() % whole.size(), static_cast<std::byte>(random()));
  }
  SUCCEED("still here");
}

// A library whose symbol table is large: each symbol is a variable of eight bytes, and every
// thousandth is a static one of a function that is searched for.
class LargeLibrary {
 public:
  LargeLibrary();
  const std::string& bytes() const { return bytes_; }
  const std::vector<std::string>& wanted() const { return wanted_; }

 private:
  std::string names_ = std::string(1, '\0');
  std::vector<Elf64_Sym> symbols_{1};
  std::vector<std::string> wanted_;
  std::string bytes_;
};

LargeLibrary::LargeLibrary() {
  constexpr std::array<unsigned char, 3> kBinds = {STB_LOCAL, STB_WEAK, STB_GLOBAL};
  for (std::size_t i = 0; i < 70000; ++i) {
    const bool hit = i % 1000 == 999;
    const std::string name =
        (hit ? "_ZZN4c10d1" : "_ZGVZN4c10d1") + std::string(i % 37, 'x') + std::to_string(i);
    Elf64_Sym& symbol = symbols_.emplace_back();
    symbol.st_name = static_cast<Elf64_Word>(names_.size());
    symbol.st_info =
        static_cast<unsigned char>(ELF64_ST_INFO(kBinds.at(i / 1000 % kBinds.size()), STT_OBJECT));
    symbol.st_shndx = 1;
    symbol.st_value = 0x1000 + 8 * i;
    symbol.st_size = 8;
    names_ += name + '\0';
    if (hit && ELF64_ST_BIND(symbol.st_info) != STB_GLOBAL) {
      wanted_.push_back(name);
    }
  }
  std::array<Elf64_Shdr, 3> sections{};
  const std::size_t table = symbols_.size() * sizeof(Elf64_Sym);
  sections[1].sh_type = SHT_SYMTAB;
  sections[1].sh_offset = sizeof(Elf64_Ehdr);
  sections[1].sh_size = table;
  sections[1].sh_entsize = sizeof(Elf64_Sym);
  sections[1].sh_link = 2;
  sections[2].sh_type = SHT_STRTAB;
  sections[2].sh_offset = sizeof(Elf64_Ehdr) + table;
  sections[2].sh_size = names_.size();
  names_.resize((names_.size() + 7) / 8 * 8);
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_DYN;
  header.e_machine = elf_machine(kOurMachine);
  header.e_version = EV_CURRENT;
  header.e_shoff = sizeof header + table + names_.size();
  header.e_ehsize = sizeof header;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = sections.size();
  const auto add = [this](const void* from, std::size_t size) {
    bytes_.append(static_cast<const char*>(from), size);
  };
  add(&header, sizeof header);
  add(symbols_.data(), table);
  add(names_.data(), names_.size());
  add(sections.data(), sizeof sections);
}

TEST_CASE("elf_image: variables of a large table are found in a file as in memory") {
  const LargeLibrary library;
  const test::ScratchFolder folder;
  const auto file = test::open_image(folder.put("library.so", library.bytes()));
  const auto bytes = std::as_bytes(std::span(library.bytes()));
  const auto memory = ElfImage::from_memory({bytes.begin(), bytes.end()});
  for (const auto* image : {&file, &memory}) {
    REQUIRE(*image);
    VariableSearch search{"_ZZN4c10d1", {8, 56}, {0x1000, std::uint64_t{1} << 30}, {}};
    (*image)->find_variables(search);
    std::vector<std::string> names;
    for (const NamedRange& each : search.found) {
      names.push_back(each.name);
    }
    CHECK(names == library.wanted());
  }
}

}  // namespace
}  // namespace oddrank::elf
