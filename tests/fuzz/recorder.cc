// Reads any bytes as the memory of a process with a flight recorder: no crash, no hang, and no call
// that the ring has no place for. The first bytes are the recorder; addresses that lie within the
// input are made to point into it.
#include "collectives/torch/recorder.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "tests/support/fake_target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace oddrank;               // NOLINT(google-build-using-namespace)
  using namespace oddrank::collectives;  // NOLINT(google-build-using-namespace)
  constexpr std::uint64_t kBase = 0x100000;
  const std::span<const std::byte> input = std::as_bytes(std::span(data, size));
  std::vector<std::byte> memory(input.begin(), input.end());
  // A word below the input's size is an offset into it: else hardly any pointer would be one.
  for (std::size_t at = 0; at + 8 <= size; at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, memory.data() + at, sizeof word);
    const bool number = at == RecorderHead::kMost || at == RecorderHead::kNext ||
                        at == RecorderHead::kId || at < RecorderHead::kEntries;
    if (!number && word >= 4096 && word < size + 4096) {
      word += kBase - 4096;
      std::memcpy(memory.data() + at, &word, sizeof word);
    }
  }
  test::FakeTarget target;
  target.add_memory(attach::Addr{kBase}, memory);
  cpython::RemoteReader reader(target);
  snapshot::Tables texts;
  const auto record = read_recorder(reader, nullptr, {attach::Addr{kBase}, size % 3}, texts);
  if (record && record->entries.size() > size / 300) {
    std::abort();
  }
  return 0;
}
