// Reads any bytes as a core file, with its notes, maps and threads: no crash, no hang.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>

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
  }
  return 0;
}
