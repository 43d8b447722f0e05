// Reads any bytes as a program or library, and its debug information: no crash, no hang.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "elf/dwarf_scopes.h"
#include "elf/elf_image.h"

namespace {

oddrank::UniqueFd file_of(const std::uint8_t* data, std::size_t size) {
  oddrank::UniqueFd file(::memfd_create("image", MFD_CLOEXEC));
  const ssize_t written = ::write(file.get(), data, size);
  return written == static_cast<ssize_t>(size) ? std::move(file) : oddrank::UniqueFd();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace oddrank::elf;  // NOLINT(google-build-using-namespace)
  std::set<std::uint64_t> addresses{0x1000, 0x2000};
  if (const auto image = ElfImage::open(file_of(data, size))) {
    for (const ElfRange& function : image->functions_with_prefix("")) {
      // Inlined calls lie anywhere in a function.
      for (std::uint64_t at = 0; at < std::min<std::uint64_t>(function.size, 64); at += 4) {
        addresses.insert(function.address + at);
      }
      if (addresses.size() > 256) {
        break;
      }
    }
    const std::vector<std::uint64_t> sorted(addresses.begin(), addresses.end());
    (void)image->names_of(sorted);
    (void)image->symbol("main");
    oddrank::elf::VariableSearch search{"", {8, 56}, {0, ~std::uint64_t{0}}, {}};
    image->find_variables(search);
    (void)image->section(".eh_frame");
  }
  const oddrank::UniqueFd file = file_of(data, size);
  if (const auto dwarf = DwarfFile::open(file)) {
    (void)dwarf->scopes_of(addresses, [] { return false; });
  }
  return 0;
}
