// Folders of our own.
#include "base/files/temp_folder.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <utility>

#include "base/write_file.h"
#include "tests/support/catch.h"

namespace oddrank {
namespace {

TEST_CASE("our own folder is removed when it is no longer needed") {
  std::string path;
  {
    auto folder = TempFolder::make("oddrank-test-");
    REQUIRE(folder);
    path = folder->path();
    CHECK(path.find("/oddrank-test-") != std::string::npos);
    struct stat facts {};
    REQUIRE(::stat(path.c_str(), &facts) == 0);
    CHECK((facts.st_mode & 07777) == 0700);
    const TempFolder moved = *std::move(folder);
    CHECK(moved.path() == path);
    REQUIRE(write_file(path + "/x", "x"));
  }
  CHECK(::access(path.c_str(), F_OK) != 0);
}

}  // namespace
}  // namespace oddrank
