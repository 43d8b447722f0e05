// Reads any bytes as a process's list of NCCL's communicators, its proxies and its bootstrap root:
// no crash, no hang, and no communicator that the memory has no place for. The first byte is the
// version, the rest memory.
#include "collectives/nccl/nccl_memory.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "collectives/nccl/nccl_proxies.h"
#include "collectives/nccl/nccl_root.h"
#include "tests/fuzz/memory_image.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace oddrank;  // NOLINT(google-build-using-namespace)
  constexpr std::array kVersions{"2.24.3", "2.26.2", "2.27.7", "2.28.9", "2.29.2", "2.30.7"};
  fuzz::Input input(std::string_view(reinterpret_cast<const char*>(data), size));
  const auto* const version = kVersions.at(input.take<std::uint8_t>() % kVersions.size());
  test::FakeTarget target;
  fuzz::MemoryImage::read(input).into(target);
  const collectives::NcclVariables variables{version,
                                             attach::Addr{0x1000},
                                             attach::Addr{0x1008},
                                             attach::Addr{0x1010},
                                             attach::Addr{0x1018},
                                             attach::Addr{0x1020},
                                             attach::Addr{0x1000},
                                             0x1000};
  const auto answer = collectives::read_nccl_list(target, variables);
  snapshot::Tables tables;
  const auto proxies = collectives::read_nccl_proxies(target, variables, tables);
  if (proxies && (proxies->transfers.size() > 256 || proxies->heads.size() > 256)) {
    std::abort();
  }
  attach::ThreadState thread;
  thread.tid = 7;
  thread.registers.emplace().sp = 0x1000;
  target.set_threads({thread});
  const std::array<pid_t, 1> threads{7};
  (void)collectives::read_nccl_roots(target, variables, threads, tables);
  return answer && answer->groups.size() > size ? std::abort(), 0 : 0;
}
