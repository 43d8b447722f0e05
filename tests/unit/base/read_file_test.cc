#include "base/read_file.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/unique_fd.h"
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

TEST_CASE("a record ends at the first read that leaves room, a file at its end") {
  int ends[2] = {-1, -1};
  REQUIRE(::pipe(ends) == 0);
  const UniqueFd from(ends[0]);
  {
    const UniqueFd into(ends[1]);
    const std::string path = "/proc/self/fd/" + std::to_string(from.get());
    REQUIRE(::write(into.get(), "one", 3) == 3);
    CHECK(read_record(path, 4096) == "one");  // does not wait for the writer's end
    REQUIRE(::write(into.get(), "more", 4) == 4);
    CHECK(read_record(path, 2) == "mo");
  }
  CHECK(read_all(from.get(), "pipe", 4096) == "re");
  CHECK(read_record("/nonexistent/file", 10).error().code == Errc::kNotFound);
}

TEST_CASE("an error names file and reason") {
  const auto missing = read_file("/nonexistent/file");
  REQUIRE_FALSE(missing);
  CHECK(missing.error().code == Errc::kNotFound);
  CHECK(missing.error().what == "cannot open /nonexistent/file: no such file or directory");
}

}  // namespace
}  // namespace oddrank
