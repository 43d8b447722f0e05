// Reads any bytes as srun's output: no crash, no hang, and nothing of a node that the line's label
// does not stand for.
#include "reach/wire/frames.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace oddrank::reach;  // NOLINT(google-build-using-namespace)
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  FrameCollector anybody;
  FrameCollector checked({}, {"run", {"n0", "n1"}, true});
  for (FrameCollector* collector : {&anybody, &checked}) {
    for (std::size_t at = 0; at < size; at += 700) {
      collector->feed(bytes.substr(at, 700));
    }
    collector->finish();
  }
  (void)anybody.take_complete();
  for (const Payload& payload : checked.take_complete()) {
    if (payload.host != (payload.label == 0 ? "n0" : "n1") || payload.label > 1) {
      std::abort();
    }
  }
  return checked.refusals().size() > 16 ? std::abort(), 0 : 0;
}
