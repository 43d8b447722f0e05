// Writes whole files safely into folders where other users can write.
//
// A file is written under a random name beside the target (O_EXCL: no other user can have made it),
// in a folder that is held by its descriptor, and then renamed. So a reader never sees half of a
// file, a full disk leaves the old file intact, and a link is replaced, not followed.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace oddrank {

// Captures and reports contain paths, command lines and values of variables.
inline constexpr mode_t kPrivateMode = 0600;

// Writes the file, with exactly this mode. A failure (also by a limit on file sizes, if SIGXFSZ is
// ignored) leaves only the old file behind. Writes directly to stdout ("-", /dev/stdout), to an
// open descriptor (/dev/fd/7), and to a device or FIFO of our own or root's. kPermission: it is
// another user's; kNotFound: no process reads the FIFO.
Status write_file(const std::string& path, std::string_view bytes, mode_t mode = kPrivateMode);

// Does the same in an open folder; `name` has no '/'. Writes only to regular files.
Status write_file_in(int folder,
                     const std::string& name,
                     std::string_view bytes,
                     mode_t mode = kPrivateMode);

// Fails if a file of `bytes` bytes cannot be written there: makes and removes one. Call it before
// long work whose result goes there. Pipes, devices and descriptors always succeed.
Status check_writable(const std::string& path, std::size_t bytes);

// Returns a text that is equal for two paths if write_file() would write the same file. "-" for
// stdout. Hard links of one file have different texts: each link is replaced by itself.
std::string file_identity(const std::string& path);

// Returns 16 random hexadecimal digits from the kernel.
std::string random_word();

}  // namespace oddrank
