#include "stacks/file_bytes.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

namespace oddrank::stacks {

Result<FileBytes> FileBytes::map(UniqueFd fd) {
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) {
    return fail(errno_code(errno), "cannot look at the file: " + errno_text(errno));
  }
  if (!S_ISREG(status.st_mode) || status.st_size <= 0) {
    return fail(Errc::kBadData, "not a regular file with something in it");
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  void* const at = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd.get(), 0);
  if (at == MAP_FAILED) {
    return fail(errno_code(errno), "cannot map the file: " + errno_text(errno));
  }
  FileBytes bytes;
  bytes.mapping_ = static_cast<const std::byte*>(at);
  bytes.size_ = size;
  return bytes;
}

FileBytes& FileBytes::operator=(FileBytes&& other) noexcept {
  if (this != &other) {
    reset();
    mapping_ = std::exchange(other.mapping_, nullptr);
    size_ = std::exchange(other.size_, 0);
    copy_ = std::move(other.copy_);
  }
  return *this;
}

void FileBytes::reset() {
  if (mapping_ != nullptr) {
    ::munmap(const_cast<std::byte*>(mapping_), size_);
    mapping_ = nullptr;
    size_ = 0;
  }
}

}  // namespace oddrank::stacks
