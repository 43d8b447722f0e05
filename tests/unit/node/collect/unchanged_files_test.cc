#include "node/collect/unchanged_files.h"

#include <unistd.h>

#include "tests/support/catch.h"
#include "tests/support/scratch_folder.h"

namespace oddrank::node {
namespace {

constexpr std::uint64_t kSecond = 1'000'000;

TEST_CASE("a file on a disk of this node that is older than the process") {
  const test::ScratchFolder folder;
  const std::string script = folder.put("train.py", "import torch\n");
  const auto later = UnchangedFiles::of(::getpid(), UINT64_MAX / 2);
  REQUIRE(later);
  CHECK(later->read(script, 100).value_or("") == "import torch\n");
  CHECK(later->read(folder.path("none/../train.py"), 100).value_or("") == "import torch\n");
  CHECK(later->read(folder.path("none"), 100).error().code == Errc::kNotFound);
  CHECK(later->read(script, 12).error().code == Errc::kUnsupported);
  CHECK(later->read(folder.path(""), 100).error().code == Errc::kUnsupported);
  const auto earlier = UnchangedFiles::of(::getpid(), 5 * kSecond);
  REQUIRE(earlier);
  CHECK(earlier->read(script, 100).error().code == Errc::kUnsupported);
}

TEST_CASE("a file that others have to answer for is not opened") {
  const test::ScratchFolder folder;
  const auto files = UnchangedFiles::of(::getpid(), UINT64_MAX / 2);
  REQUIRE(files);
  // The kernel's own files stand for those of a server: their file system is no disk.
  CHECK(files->read("/proc/self/status", 1 << 20).error().code == Errc::kUnsupported);
  CHECK(files->read(folder.path("../../proc/self/status"), 1 << 20).error().code ==
        Errc::kUnsupported);
  REQUIRE(::symlink("/proc/version", folder.path("link").c_str()) == 0);
  CHECK(files->read(folder.path("link"), 1 << 20).error().code == Errc::kUnsupported);
}

}  // namespace
}  // namespace oddrank::node
