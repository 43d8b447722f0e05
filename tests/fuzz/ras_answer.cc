// Any bytes as an answer of NCCL's RAS service, JSON or text: no crash, no hang.
#include "collectives/ras_answer.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace oddrank::collectives;  // NOLINT(google-build-using-namespace)
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  // What is repaired once needs no second repair.
  const std::string repaired = repair_json(bytes);
  if (repaired.size() > 2 * size || repair_json(repaired) != repaired) {
    std::abort();
  }
  (void)read_ras_json(bytes);
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
