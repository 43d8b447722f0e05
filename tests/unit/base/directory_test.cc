#include "base/directory.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/unique_fd.h"
#include "tests/support/catch.h"

namespace oddrank {
namespace {

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
