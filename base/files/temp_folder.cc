#include "base/files/temp_folder.h"

#include <stdlib.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace oddrank {

Result<TempFolder> TempFolder::make(std::string_view prefix) {
  const char* chosen = std::getenv("TMPDIR");  // NOLINT(concurrency-mt-unsafe): one thread
  std::string path = chosen != nullptr && *chosen == '/' ? chosen : "/tmp";
  path.append("/").append(prefix).append("XXXXXX");
  if (::mkdtemp(path.data()) == nullptr) {
    return fail(errno_code(errno), "cannot make the folder " + path + ": " + errno_text(errno),
                "set TMPDIR to a folder in which you may write");
  }
  return TempFolder(std::move(path));
}

TempFolder::~TempFolder() {
  if (!path_.empty()) {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
}

TempFolder::TempFolder(TempFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}

}  // namespace oddrank
