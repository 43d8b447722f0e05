// Reads any bytes as a capture: no crash, no hang, ids that all exist, and a capture that was read
// can be written and read again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "snapshot/format/capture_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace oddrank;  // NOLINT(google-build-using-namespace)
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto capture = snapshot::decode_capture(bytes);
  if (!capture) {
    return 0;
  }
  const auto& tables = capture->tables;
  for (const snapshot::ProcessCapture& process : capture->processes) {
    for (const snapshot::ThreadCapture& thread : process.threads) {
      if (process.node >= capture->nodes.size() || thread.samples.empty() ||
          !tables.stacks().contains(thread.samples.back().stack)) {
        std::abort();
      }
    }
  }
  // A small file may say much in little, and what is written again is no larger than it may be.
  (void)snapshot::decode_capture(snapshot::encode_capture(*capture));
  return 0;
}
