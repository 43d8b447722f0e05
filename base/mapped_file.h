// The bytes of a file, mapped read-only: only touched pages are read, so a core file of 50 GB costs
// no more than the part in use. Move-only.
//
// If a file is truncated while it is mapped, a process that touches a missing page dies (SIGBUS):
// another reason to read foreign files in a disposable child (base/isolated.h).
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
  // Maps a regular file that is not empty, and closes the fd. Fails for others: a pipe or a device
  // may block or be endless.
  static Result<MappedFile> map(UniqueFd fd);

  ~MappedFile() { reset(); }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  MappedFile(MappedFile&& other) noexcept
      : at_(std::exchange(other.at_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  MappedFile& operator=(MappedFile&& other) noexcept;

  // Returns the bytes; empty if nothing is mapped. Moving the object does not move the bytes.
  std::span<const std::byte> span() const { return {at_, size_}; }

  // Releases the memory of the pages touched so far; they are read again when needed.
  void forget_pages() const;

 private:
  void reset();

  const std::byte* at_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace oddrank
