// The permissions of files that are written (--mode).
#pragma once

#include <sys/types.h>

#include "base/write_file.h"

namespace oddrank::cli {

// A type of its own: mode_t is an unsigned number like others.
struct FileMode {
  mode_t bits = kPrivateMode;
};

}  // namespace oddrank::cli
