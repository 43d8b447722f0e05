// Finds the parts of a function that the compiler moved elsewhere (".cold"), in a file without
// local symbols. In Debian's 3.14 and 3.15, nearly all of the evaluation loop is in such a part.
//
// Unwind information survives stripping and has an entry for each part. A part belongs to the
// function if the function jumps several times into the middle of it: calls and tail calls go to
// the start of a function.
#pragma once

#include <vector>

#include "elf/elf_image.h"

namespace oddrank::cpython {

// Returns the parts as addresses in the file, like `function`. Empty if there are none, or the file
// has no index of its unwind information.
std::vector<elf::ElfRange> cold_ranges(const elf::ElfImage& image, const elf::ElfRange& function);

}  // namespace oddrank::cpython
