// Reads any bytes as the end of a job's output, as the output of nvidia-smi, and as Ray's status:
// no crash, no hang, and no more kept than promised.
#include "collectives/around/log_lines.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "collectives/around/gpu_table.h"
#include "collectives/around/ray_status.h"
#include "tests/fuzz/peak_memory.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace oddrank;  // NOLINT(google-build-using-namespace)
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const fuzz::PeakMemory memory(size);
  snapshot::Tables tables;
  constexpr std::size_t kMost = 4 * 32;  // kinds, and lines of each
  const auto lines = collectives::read_log_lines(bytes, -1, tables).lines;
  for (const snapshot::LogLine& line : lines) {
    if (lines.size() > kMost || line.behind.size() > size || tables.text(line.text).size() > 300) {
      std::abort();
    }
  }
  const std::size_t half = size / 2;
  (void)collectives::read_gpu_table(
      {bytes.substr(0, half), bytes.substr(half), bytes.substr(half), bytes.substr(half), ""},
      tables);
  if (collectives::read_requests(bytes, tables).size() > collectives::kMaxRequests) {
    std::abort();
  }
  for (const collectives::ResourceHold& hold : collectives::read_holds(bytes)) {
    (void)collectives::has_some_of(hold, "CPU");
  }
  return 0;
}
