// Images of files that several processes have mapped: one that was opened for one process serves
// the next. Ranks map the same libraries; opening one, and touching its tables again, costs as much
// as unwinding a rank with them.
//
// One collection per process of ours, which reads targets of one user (base/isolated.h). Not
// thread-safe.
#pragma once

#include <memory>

#include "base/result.h"
#include "base/unique_fd.h"
#include "elf/elf_image.h"

namespace oddrank::elf {

// Returns the image of the open file. A file that has changed since, by its times and size, is
// another one. Keeps the last 64 images open; fails as ElfImage::open does.
Result<std::shared_ptr<const ElfImage>> open_shared_image(UniqueFd fd);

}  // namespace oddrank::elf
