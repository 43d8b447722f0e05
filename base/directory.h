// Owner of an open directory; closes it on destruction. Null if it could not be opened.
#pragma once

#include <dirent.h>

#include <memory>

namespace oddrank {

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

using Directory = std::unique_ptr<DIR, CloseDirectory>;

}  // namespace oddrank
