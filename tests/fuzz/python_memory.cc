// Reads any bytes as the memory of a Python process: no crash, no hang. The first bytes are the
// version and the threads; the rest is memory (memory_image.h). From 3.13 on that begins with the
// offsets that the process publishes.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "cpython/layouts/debug_offsets.h"
#include "tests/fuzz/memory_image.h"
#include "tests/fuzz/python_reading.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace oddrank;  // NOLINT(google-build-using-namespace)
  fuzz::Input input(std::string_view(reinterpret_cast<const char*>(data), size));
  cpython::Runtime runtime;
  runtime.version.major = 3;
  runtime.version.minor = input.take<std::uint8_t>();
  std::vector<attach::ThreadState> states(input.take<std::uint8_t>() % 16 + 1);
  runtime.address = attach::Addr{input.take<std::uint64_t>()};
  test::FakeTarget target;
  for (attach::ThreadState& state : states) {
    state.tid = state.target_tid = input.take<std::int32_t>();
    state.state = 'S';
    state.syscall.emplace();
    state.syscall->number = input.take<std::int32_t>();
    state.syscall->arguments[0] = input.take<std::uint64_t>();
  }
  target.set_threads(states);
  fuzz::MemoryImage::read(input).into(target);
  std::vector<std::byte> head(cpython::kDebugOffsetsSize);
  cpython::RemoteReader reader(target);
  if (reader.read(runtime.address, head) && cpython::has_debug_offsets(head)) {
    const auto offsets = cpython::parse_debug_offsets(head);
    if (!offsets) {
      return 0;
    }
    runtime.version = offsets->version;
    runtime.layout = offsets->layout;
  } else if (const auto* layout = cpython::static_layout(runtime.version)) {
    runtime.layout = *layout;
  } else {
    return 0;
  }
  elf::ModuleMap modules(target);
  (void)fuzz::read_python(target, modules, runtime, states);
  return 0;
}
