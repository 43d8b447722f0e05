#include "elf/shared_images.h"

#include <fcntl.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include "tests/support/catch.h"
#include "tests/unit/elf/elf_samples.h"

namespace oddrank::elf {
namespace {

class ImageFolder {
 public:
  ImageFolder() {
    std::string name = std::filesystem::temp_directory_path() / "oddrank-images-XXXXXX";
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~ImageFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ImageFolder(const ImageFolder&) = delete;
  ImageFolder& operator=(const ImageFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

UniqueFd opened(const std::string& path) {
  return UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
}

TEST_CASE("shared_images: a file is opened once, until it is another one") {
  const ImageFolder folder;
  const std::string path = folder.path() + "/library.so";
  std::filesystem::copy_file(test::sample_path(), path);
  const auto first = open_shared_image(opened(path));
  REQUIRE(first);
  CHECK((*first)->symbol("main"));
  const auto same = open_shared_image(opened(path));
  REQUIRE(same);
  CHECK(*same == *first);

  // Another file of that name, as a new installation puts it there.
  std::filesystem::copy_file(path, folder.path() + "/new");
  std::filesystem::rename(folder.path() + "/new", path);
  const auto other = open_shared_image(opened(path));
  REQUIRE(other);
  CHECK(*other != *first);

  // The same file, written to.
  std::ofstream(path, std::ios::app) << "more";
  const auto changed = open_shared_image(opened(path));
  REQUIRE(changed);
  CHECK(*changed != *other);
  CHECK((*first)->symbol("main"));  // those in use stay
}

TEST_CASE("shared_images: a file that is not a program is refused each time") {
  const ImageFolder folder;
  const std::string path = folder.path() + "/text";
  std::ofstream(path) << "text";
  CHECK_FALSE(open_shared_image(opened(path)));
  CHECK_FALSE(open_shared_image(opened(path)));
  CHECK_FALSE(open_shared_image(UniqueFd()));
}

}  // namespace
}  // namespace oddrank::elf
