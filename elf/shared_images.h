// A cache of images for files that several processes have mapped. Ranks map the same libraries;
// opening one again costs as much as unwinding a rank with it.
//
// One collection per process of ours, which reads targets of one user (base/isolated.h). Not
// thread-safe.
#pragma once

#include <memory>

#include "base/result.h"
#include "base/unique_fd.h"
#include "elf/elf_image.h"

namespace oddrank::elf {

// Returns the image of the open file. A file whose times or size have changed is read anew. Keeps
// the last 64 images open; fails as ElfImage::open does.
Result<std::shared_ptr<const ElfImage>> open_shared_image(UniqueFd fd);

}  // namespace oddrank::elf
