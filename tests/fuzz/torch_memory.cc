// Reads any bytes as the C++ objects of PyTorch's process groups and stores: no crash, no hang. The
// first number is the address of a group's Python object, the second that of a store; the rest is
// memory. The first page of memory is code, which tells where a backend's number is.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "collectives/torch/meeting_place.h"
#include "collectives/torch/process_group.h"
#include "cpython/layouts/layout.h"
#include "tests/fuzz/memory_image.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace oddrank;  // NOLINT(google-build-using-namespace)
  fuzz::Input input(std::string_view(reinterpret_cast<const char*>(data), size));
  const attach::Addr group{input.take<std::uint64_t>()};
  const attach::Addr store{input.take<std::uint64_t>()};
  test::FakeTarget target;
  auto image = fuzz::MemoryImage::read(input);
  image.into(target);
  if (!image.pages().empty()) {
    attach::Mapping code;
    code.start = image.pages().begin()->first;
    code.end = code.start + fuzz::MemoryImage::kPageSize;
    code.executable = true;
    target.add_mapping(code);
  }
  for (const char* version : {"2.13.0+cpu", "2.4.1"}) {
    cpython::PythonMemory memory(target, cpython::layout_3_11());
    (void)collectives::GroupReader(memory, version).read(group);
    (void)collectives::read_meeting_place(memory, store);
  }
  return 0;
}
