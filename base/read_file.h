// Reads whole small files into memory, bounded, and writes them. For /proc and for files whose size
// is not trusted.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace oddrank {

// Reads at most `limit` bytes; a longer file is cut there, not refused (a cut /proc table is still
// worth reading). Fails with the errno of open or read; `what` names path and reason.
Result<std::string> read_file(const std::string& path, std::size_t limit = std::size_t{16} << 20);

// Returns the target of a symbolic link, for instance /proc/7/exe; at most 4096 bytes.
Result<std::string> read_link(const std::string& path);

// Writes a whole file through a temporary file beside it and a rename, so that a reader never sees
// half of it and a full disk leaves the old file intact. Writes directly to a device or pipe
// (/dev/stdout). Path "-" is stdout.
Status write_file(const std::string& path, std::string_view bytes);

}  // namespace oddrank
