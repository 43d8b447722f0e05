#include "base/read_file.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "tests/support/catch.h"

namespace oddrank {
namespace {

struct ScratchFolder {
  std::string path = (std::filesystem::temp_directory_path() / "oddrank-XXXXXX").string();
  ScratchFolder() { REQUIRE(::mkdtemp(path.data()) != nullptr); }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
};

TEST_CASE("a file is read whole, or cut at the limit") {
  const ScratchFolder folder;
  const std::string path = folder.path + "/f";
  REQUIRE(write_file(path, std::string(100000, 'x')));
  CHECK(read_file(path)->size() == 100000);
  CHECK(read_file(path, 17)->size() == 17);
}

TEST_CASE("an error names file and reason") {
  const auto missing = read_file("/nonexistent/file");
  REQUIRE_FALSE(missing);
  CHECK(missing.error().code == Errc::kNotFound);
  CHECK(missing.error().what == "cannot open /nonexistent/file: no such file or directory");
}

TEST_CASE("a failed write leaves the old file and no temporary one") {
  const ScratchFolder folder;
  const std::string path = folder.path + "/f";
  REQUIRE(write_file(path, "old"));
  const auto refused = write_file(folder.path + "/none/f", "new");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Errc::kNotFound);
  CHECK(*read_file(path) == "old");
  int files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder.path)) {
    ++files;
  }
  CHECK(files == 1);
}

// A first version renamed its file over the device.
TEST_CASE("a device is written through, not replaced") {
  const auto refused = write_file("/dev/full", "new");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().what == "cannot write /dev/full: no space left on device");
  CHECK(std::filesystem::is_character_file("/dev/full"));
}

}  // namespace
}  // namespace oddrank
