// Reads any bytes as a program or library, and its debug information: no crash, no hang.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <utility>

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
  if (const auto image = ElfImage::open(file_of(data, size))) {
    (void)image->functions_with_prefix("_");
  }
  const oddrank::UniqueFd file = file_of(data, size);
  if (const auto dwarf = DwarfFile::open(file)) {
    (void)dwarf->scopes_of({0x1000, 0x2000}, [] { return false; });
  }
  return 0;
}
