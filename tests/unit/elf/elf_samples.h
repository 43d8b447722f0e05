// Real ELF files for the unit tests of elf/.
#pragma once

#include <fcntl.h>

#include <string>

#include "base/read_file.h"
#include "elf/elf_image.h"
#include "tests/support/victim.h"

namespace oddrank::test {

// Returns the path of a small program with all its symbols, built with the tests.
inline std::string sample_path() {
  return victim_path("blocked");
}

inline Result<elf::ElfImage> open_image(const std::string& path) {
  return elf::ElfImage::open(UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)));
}

inline std::vector<std::byte> bytes_of(const std::string& path) {
  const std::string text = read_file(path).value_or(std::string());
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

}  // namespace oddrank::test
