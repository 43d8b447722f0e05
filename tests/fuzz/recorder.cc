// Reads any bytes as the memory of a process with a flight recorder: no crash, no hang, and no call
// that the ring has no place for. The first byte says how many calls are kept; the rest is memory
// (memory_image.h), with the recorder at a fixed address.
#include "collectives/torch/recorder.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "collectives/torch/recorder_maps.h"
#include "cpython/layouts/layout.h"
#include "tests/fuzz/memory_image.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace oddrank;               // NOLINT(google-build-using-namespace)
  using namespace oddrank::collectives;  // NOLINT(google-build-using-namespace)
  constexpr std::size_t kSmallestEntry = 300;
  fuzz::Input input(std::string_view(reinterpret_cast<const char*>(data), size));
  const std::size_t newest = input.take<std::uint8_t>() % 3;
  test::FakeTarget target;
  auto image = fuzz::MemoryImage::read(input);
  image.into(target);
  cpython::PythonMemory memory(target, cpython::layout_3_11());
  (void)registered_recorders(memory, attach::Addr{0x100000});
  snapshot::Tables texts;
  const auto record = read_recorder(memory, &memory, {attach::Addr{0x100000}, newest}, texts);
  const std::size_t most = image.pages().size() * fuzz::MemoryImage::kPageSize / kSmallestEntry;
  return record && record->entries.size() > most ? std::abort(), 0 : 0;
}
