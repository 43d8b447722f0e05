// Reads any bytes as an answer of NCCL's RAS service, JSON or text: no crash, no hang, and memory
// in proportion to the input.
#include "collectives/nccl/ras_answer.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "tests/fuzz/peak_memory.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace oddrank;               // NOLINT(google-build-using-namespace)
  using namespace oddrank::collectives;  // NOLINT(google-build-using-namespace)
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  // Text that was repaired once needs no second repair, unless too much was broken.
  const std::string repaired = repair_json(bytes);
  const std::size_t added = repaired.size() - size;
  if (added > size / 32 + 16 || (added < 16 && repair_json(repaired) != repaired)) {
    std::abort();
  }
  {
    const fuzz::PeakMemory memory(size);
    (void)read_ras_json(bytes);
  }
  const fuzz::PeakMemory memory(size);
  if (const auto answer = read_ras_text(bytes)) {
    std::size_t members = 0;
    for (const RasGroup& group : answer->groups) {
      members += group.members.size();
    }
    if (members > size) {
      std::abort();
    }
  }
  return 0;
}
