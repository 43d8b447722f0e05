// Writes whole files, so that nobody else decides what is written where.
//
// A file is written under a random name beside the target, which no one else can have made before
// (O_EXCL), in a folder that is held by its descriptor, and then renamed. So a reader never sees
// half of it, a full disk leaves the old file intact, and a link that somebody has put in the
// target's place is replaced, not followed.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace oddrank {

// Captures and reports contain paths, command lines and values of variables.
inline constexpr mode_t kPrivateMode = 0600;

// Writes the file, with exactly this mode. A failure (also of a limit on file sizes, if SIGXFSZ is
// ignored) leaves nothing behind but the old file. Writes directly to stdout ("-", /dev/stdout), to
// an open descriptor (/dev/fd/7), and to a device or FIFO of our own or root's. kPermission: it is
// another user's; kNotFound: no process reads the FIFO.
Status write_file(const std::string& path, std::string_view bytes, mode_t mode = kPrivateMode);

// The same in an open folder; `name` has no '/'. Never writes to anything but a regular file.
Status write_file_in(int folder,
                     const std::string& name,
                     std::string_view bytes,
                     mode_t mode = kPrivateMode);

// Returns why a file of so many bytes cannot be written there, by making and removing one; to be
// called before long work whose result goes there. Says nothing of pipes, devices and descriptors.
Status check_writable(const std::string& path, std::size_t bytes);

// Returns what tells apart the files that write_file() would write for two paths; equal texts mean
// the same file. "-" for stdout. Different names may still be of one file (hard links), which then
// both are replaced.
std::string file_identity(const std::string& path);

// Returns 16 random hexadecimal digits from the kernel.
std::string random_word();

}  // namespace oddrank
