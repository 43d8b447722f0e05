// A folder of our own for temporary files.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace oddrank {

// A new folder in TMPDIR or /tmp, which only its owner may enter. The destructor removes it with
// its contents. Move-only.
class TempFolder {
 public:
  // `prefix`: the beginning of its name.
  static Result<TempFolder> make(std::string_view prefix);
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  TempFolder(TempFolder&& other) noexcept;
  TempFolder& operator=(TempFolder&&) = delete;

  const std::string& path() const { return path_; }

 private:
  explicit TempFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace oddrank
