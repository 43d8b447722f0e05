// Reads any bytes as a process's MPI objects: no crash, no hang, and no member that a communicator
// has no place for. First the number of words that a frame holds, then these, the rest is memory.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "collectives/mpi/mpi_calls.h"
#include "collectives/mpi/mpich.h"
#include "collectives/mpi/open_mpi.h"
#include "tests/fuzz/memory_image.h"

namespace {

using namespace oddrank;  // NOLINT(google-build-using-namespace)

void check(const std::optional<collectives::MpiCommunicator>& communicator) {
  if (communicator &&
      (communicator->size < 0 || communicator->size > collectives::kMaxMpiProcesses ||
       communicator->members.size() > static_cast<std::size_t>(communicator->size))) {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kMaxKeptWords = 16;
  fuzz::Input input(std::string_view(reinterpret_cast<const char*>(data), size));
  std::vector<attach::PreservedValue> words(input.take<std::uint8_t>() % kMaxKeptWords);
  for (attach::PreservedValue& word : words) {
    word.value = input.take<std::uint64_t>();
    word.address = input.take<std::uint8_t>();
  }
  test::FakeTarget target;
  fuzz::MemoryImage::read(input).into(target);
  cpython::RemoteReader reader(target);
  collectives::OpenMpiReader open_mpi(reader);
  for (const attach::PreservedValue& word : words) {
    check(open_mpi.communicator(attach::Addr{word.value}));
    (void)open_mpi.request(attach::Addr{word.value});
    check(collectives::read_mpich_communicator(reader, attach::Addr{word.value}));
    (void)collectives::read_mpich_request(reader, attach::Addr{word.value});
  }
  snapshot::Tables tables;
  snapshot::ProcessCapture process;
  process.rank = 1;
  process.threads.emplace_back();
  process.threads.back().tid = 5;
  collectives::collect_mpi_calls(target, {{5, {words, words}}}, tables, process);
  return 0;
}
