// The bytes of a file or of an image in memory, read-only, as one span. A file is mapped, not read:
// libtorch_cpu.so alone has hundreds of megabytes (see base/mapped_file.h).
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "base/mapped_file.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace oddrank::elf {

class FileBytes {
 public:
  // Maps a regular file and closes the fd; fails for other files.
  static Result<FileBytes> map(UniqueFd fd);
  explicit FileBytes(std::vector<std::byte> bytes) : copy_(std::move(bytes)) {}

  // Returns the bytes; moving the object does not move them.
  std::span<const std::byte> span() const {
    return file_.span().empty() ? std::span(copy_) : file_.span();
  }

  // Releases the memory of a mapped file's pages (MappedFile).
  void forget_pages() const { file_.forget_pages(); }

 private:
  explicit FileBytes(MappedFile file) : file_(std::move(file)) {}

  MappedFile file_;
  std::vector<std::byte> copy_;
};

inline Result<FileBytes> FileBytes::map(UniqueFd fd) {
  ODDRANK_TRY(MappedFile file, MappedFile::map(std::move(fd)));
  return FileBytes(std::move(file));
}

}  // namespace oddrank::elf
