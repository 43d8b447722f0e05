// The least that `oddrank report FOLDER` must do: `capture_floor FOLDER` reads each capture there
// and decompresses it, and does nothing with the bytes.
#include <zstd.h>

#include <cstdio>
#include <filesystem>
#include <string>

#include "base/read_file.h"

int main(int count, char** arguments) {
  constexpr std::size_t kMaxBytes = std::size_t{64} << 20;
  std::string plain;
  unsigned long long all = 0;
  for (const auto& entry : std::filesystem::directory_iterator(count > 1 ? arguments[1] : ".")) {
    const auto bytes = oddrank::read_file(entry.path().string(), kMaxBytes);
    if (!bytes) {
      continue;
    }
    // The file's own head is not compressed: the frame begins at zstd's mark.
    const auto at = bytes->find("\x28\xb5\x2f\xfd");
    if (at == std::string::npos) {
      continue;
    }
    const auto size = ZSTD_getFrameContentSize(bytes->data() + at, bytes->size() - at);
    if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN || size > kMaxBytes) {
      continue;
    }
    plain.resize(size);
    const auto got =
        ZSTD_decompress(plain.data(), plain.size(), bytes->data() + at, bytes->size() - at);
    all += ZSTD_isError(got) != 0U ? 0 : got;
  }
  std::printf("%llu bytes\n", all);
  return all > 0 ? 0 : 1;
}
