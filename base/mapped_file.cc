#include "base/mapped_file.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>

namespace oddrank {

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  if (this != &other) {
    reset();
    at_ = std::exchange(other.at_, nullptr);
    size_ = std::exchange(other.size_, 0);
  }
  return *this;
}

Result<MappedFile> MappedFile::map(UniqueFd fd) {
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) {
    return fail(errno_code(errno), "cannot examine the file: " + errno_text(errno));
  }
  if (!S_ISREG(status.st_mode) || status.st_size <= 0) {
    return fail(Errc::kBadData, "not a regular file, or empty");
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  void* const at = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd.get(), 0);
  if (at == MAP_FAILED) {
    return fail(errno_code(errno), "cannot map the file: " + errno_text(errno));
  }
  MappedFile file;
  file.at_ = static_cast<const std::byte*>(at);
  file.size_ = size;
  return file;
}

void MappedFile::forget_pages() const {
  if (at_ != nullptr) {
    ::madvise(const_cast<std::byte*>(at_), size_, MADV_DONTNEED);  // it is never written to
  }
}

void MappedFile::reset() {
  if (at_ != nullptr) {
    ::munmap(const_cast<std::byte*>(at_), size_);
    at_ = nullptr;
    size_ = 0;
  }
}

}  // namespace oddrank
