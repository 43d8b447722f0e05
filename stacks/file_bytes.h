// The bytes of a file or of an image in memory, read-only, behind one span.
//
// A file is mapped, not read: libtorch_cpu.so alone has hundreds of megabytes. A file that is cut
// short by somebody while it is mapped ends the process that touches the missing page (SIGBUS);
// that is one more reason why targets are read in a disposable child (base/isolated.h).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace oddrank::stacks {

class FileBytes {
 public:
  // Regular files only: a pipe or a device may block, or have no end. The fd is closed.
  static Result<FileBytes> map(UniqueFd fd);
  explicit FileBytes(std::vector<std::byte> bytes) : copy_(std::move(bytes)) {}

  ~FileBytes() { reset(); }
  FileBytes(const FileBytes&) = delete;
  FileBytes& operator=(const FileBytes&) = delete;
  FileBytes(FileBytes&& other) noexcept { *this = std::move(other); }
  FileBytes& operator=(FileBytes&& other) noexcept;

  // Stays where it is when the object is moved.
  std::span<const std::byte> span() const {
    return mapping_ != nullptr ? std::span(mapping_, size_) : std::span(copy_);
  }

 private:
  FileBytes() = default;
  void reset();

  const std::byte* mapping_ = nullptr;
  std::size_t size_ = 0;
  std::vector<std::byte> copy_;
};

}  // namespace oddrank::stacks
