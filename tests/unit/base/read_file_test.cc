#include "base/read_file.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

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
  std::ofstream(path) << std::string(100000, 'x');
  CHECK(read_file(path)->size() == 100000);
  CHECK(read_file(path, 17)->size() == 17);
}

TEST_CASE("an error names file and reason") {
  const auto missing = read_file("/nonexistent/file");
  REQUIRE_FALSE(missing);
  CHECK(missing.error().code == Errc::kNotFound);
  CHECK(missing.error().what == "cannot open /nonexistent/file: no such file or directory");
}

}  // namespace
}  // namespace oddrank
