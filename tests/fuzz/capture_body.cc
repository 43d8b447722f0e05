// Reads any bytes as what a capture holds once it is unpacked: CBOR, and its tables of columns. The
// target `capture` cannot get there: it would have to guess compressed bytes.
#include <zstd.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "snapshot/format/capture_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace oddrank;  // NOLINT(google-build-using-namespace)
  std::string file = "ODDRANK" + std::string(1, static_cast<char>(snapshot::kCaptureFormat));
  const std::size_t header = file.size();
  file.resize(header + ::ZSTD_compressBound(size));
  const std::size_t packed =
      ::ZSTD_compress(file.data() + header, file.size() - header, data, size, 1);
  file.resize(header + packed);
  if (const auto capture = snapshot::decode_capture(file)) {
    (void)snapshot::decode_capture(snapshot::encode_capture(*capture));
  }
  return 0;
}
