#include "base/unique_fd.h"

#include <fcntl.h>
#include <unistd.h>

#include "tests/support/catch.h"

namespace oddrank {
namespace {

bool is_open(int fd) {
  return ::fcntl(fd, F_GETFD) != -1;
}

TEST_CASE("a descriptor has one owner and is closed once") {
  UniqueFd first(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const int fd = first.get();
  REQUIRE(first.valid());
  UniqueFd second(std::move(first));
  CHECK_FALSE(first.valid());  // NOLINT(bugprone-use-after-move): that is what is tested
  CHECK(second.get() == fd);
  UniqueFd third;
  third = std::move(second);
  CHECK(is_open(fd));
  third.reset();
  CHECK_FALSE(is_open(fd));
}

TEST_CASE("release gives up and does not close") {
  UniqueFd owner(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const int fd = owner.release();
  CHECK_FALSE(owner.valid());
  CHECK(is_open(fd));
  const UniqueFd again(fd);
}

TEST_CASE("the end of a directory differs from one that cannot be read on") {
  const Directory directory(::opendir("/proc/self"));
  REQUIRE(directory != nullptr);
  std::size_t entries = 0;
  while (next_entry(directory) != nullptr) {
    ++entries;
  }
  CHECK(errno == 0);
  CHECK(entries > 10);
  ::rewinddir(directory.get());
  const UniqueFd other(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  REQUIRE(::dup2(other.get(), ::dirfd(directory.get())) >= 0);
  CHECK(next_entry(directory) == nullptr);
  CHECK(errno == ENOTDIR);
}

}  // namespace
}  // namespace oddrank
