#include "elf/shared_images.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>

namespace oddrank::elf {
namespace {

constexpr std::size_t kMaxImages = 64;

using FileKey = std::array<std::uint64_t, 7>;

struct SharedImage {
  FileKey key{};
  std::shared_ptr<const ElfImage> image;
};

FileKey key_of(const struct stat& file) {
  const auto number = [](auto value) { return static_cast<std::uint64_t>(value); };
  return {number(file.st_dev),         number(file.st_ino),          number(file.st_size),
          number(file.st_mtim.tv_sec), number(file.st_mtim.tv_nsec), number(file.st_ctim.tv_sec),
          number(file.st_ctim.tv_nsec)};
}

// Newest last.
std::deque<SharedImage>& images() {
  static std::deque<SharedImage> all;
  return all;
}

}  // namespace

Result<std::shared_ptr<const ElfImage>> open_shared_image(UniqueFd fd) {
  struct stat file {};
  const bool known_file = ::fstat(fd.get(), &file) == 0;
  const FileKey key = key_of(file);
  auto& all = images();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&key](const SharedImage& shared) { return shared.key == key; });
  if (known_file && found != all.end()) {
    return found->image;
  }
  ODDRANK_TRY(ElfImage opened, ElfImage::open(std::move(fd)));
  auto image = std::make_shared<const ElfImage>(std::move(opened));
  if (known_file) {
    if (all.size() == kMaxImages) {
      all.pop_front();
    }
    all.push_back({key, image});
  }
  return image;
}

}  // namespace oddrank::elf
