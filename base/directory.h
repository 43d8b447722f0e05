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

// Returns the next entry; null at the end (`errno` is 0) and if the rest cannot be listed (`errno`
// is the reason). Precondition: no other thread uses the directory.
inline const dirent* next_entry(const Directory& directory) {
  const dirent* entry = nullptr;
  do {
    errno = 0;
    entry = ::readdir(directory.get());
  } while (entry == nullptr && errno == EINTR);
  return entry;
}

}  // namespace oddrank
