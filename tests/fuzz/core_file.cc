// Reads any bytes as a core file, with its notes, maps, threads and start: no crash, no hang.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "attach/core/core_start.h"
#include "attach/core/core_target.h"
#include "base/unique_fd.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace oddrank;  // NOLINT(google-build-using-namespace)
  const UniqueFd file(::memfd_create("core", MFD_CLOEXEC));
  if (::write(file.get(), data, size) != static_cast<ssize_t>(size)) {
    return 0;
  }
  const auto core = attach::CoreTarget::open("/proc/self/fd/" + std::to_string(file.get()), "");
  if (core) {
    (void)(*core)->maps();
    (void)(*core)->executable();
    (void)attach::read_core_start(**core, (*core)->core().notes());
    if (const auto threads = (*core)->threads()) {
      for (const attach::ThreadState& thread : *threads) {
        (void)attach::read_object<std::uint64_t>(
            **core, attach::Addr{thread.registers ? thread.registers->sp : 0});
      }
    }
  }
  return 0;
}
