// Owner of one file descriptor. Move-only; closes on destruction.
//
// Owner of an open directory; closes it on destruction. Null if it could not be opened.
#pragma once

#include <dirent.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <utility>

namespace oddrank {

class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  ~UniqueFd() { reset(); }
  UniqueFd(const UniqueFd&) = delete;
  UniqueFd& operator=(const UniqueFd&) = delete;
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept;

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  // Gives up ownership without closing.
  [[nodiscard]] int release() { return std::exchange(fd_, -1); }
  void reset();

 private:
  int fd_ = -1;
};

inline UniqueFd& UniqueFd::operator=(UniqueFd&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

inline void UniqueFd::reset() {
  if (fd_ >= 0) {
    ::close(fd_);
    fd_ = -1;
  }
}

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
