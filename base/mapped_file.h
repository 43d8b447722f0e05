// The bytes of a file, mapped read-only: only the pages that are looked at are read, so that a core
// file of 50 GB costs no more than what is needed of it. Move-only.
//
// A file that is cut short by somebody while it is mapped ends the process that touches the missing
// page (SIGBUS); that is one more reason to look at files of others in a disposable child
// (base/isolated.h).
#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include "base/result.h"
#include "base/unique_fd.h"

namespace oddrank {

class MappedFile {
 public:
  MappedFile() = default;
  // Regular files with something in them only: a pipe or a device may block, or have no end. The fd
  // is closed.
  static Result<MappedFile> map(UniqueFd fd);

  ~MappedFile() { reset(); }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  MappedFile(MappedFile&& other) noexcept
      : at_(std::exchange(other.at_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  MappedFile& operator=(MappedFile&& other) noexcept {
    if (this != &other) {
      reset();
      at_ = std::exchange(other.at_, nullptr);
      size_ = std::exchange(other.size_, 0);
    }
    return *this;
  }

  // Empty if nothing is mapped. Stays where it is when the object is moved.
  std::span<const std::byte> span() const { return {at_, size_}; }

 private:
  void reset();

  const std::byte* at_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace oddrank
