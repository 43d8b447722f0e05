// Owner of an open directory; closes it on destruction. Null if it could not be opened.
#pragma once

#include <dirent.h>

#include <cerrno>
#include <memory>

namespace oddrank {

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

using Directory = std::unique_ptr<DIR, CloseDirectory>;

// Returns the next entry; null at the end, and then `errno` is 0, or the reason if the rest cannot
// be listed. Precondition: no other thread uses the directory.
inline const dirent* next_entry(const Directory& directory) {
  const dirent* entry = nullptr;
  do {
    errno = 0;
    entry = ::readdir(directory.get());
  } while (entry == nullptr && errno == EINTR);
  return entry;
}

}  // namespace oddrank
