// Parts of a function that the compiler put elsewhere (".cold") in a file whose local symbols were
// stripped. Debian's 3.14 and 3.15 have nearly all of the evaluation loop in such a part.
//
// Unwind information survives stripping and has an entry for each part. A part belongs to the
// function if the function jumps into the middle of it, several times: calls and tail calls go to a
// function's start.
#pragma once

#include <vector>

#include "elf/elf_image.h"

namespace oddrank::cpython {

// Addresses of the file, like `function`. Empty if there are none, or the file has no index of its
// unwind information.
std::vector<elf::ElfRange> cold_parts(const elf::ElfImage& image, const elf::ElfRange& function);

}  // namespace oddrank::cpython
