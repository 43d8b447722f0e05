// The permissions of files that are written (--mode).
#pragma once

#include <sys/types.h>

#include "base/write_file.h"

namespace oddrank::cli {

// A separate type, since mode_t is an ordinary unsigned number.
struct FileMode {
  mode_t bits = kPrivateMode;
};

}  // namespace oddrank::cli
