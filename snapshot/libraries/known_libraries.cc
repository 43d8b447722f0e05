#include "snapshot/libraries/known_libraries.h"

#include "base/base_name.h"

namespace oddrank::snapshot {
namespace {

using enum Library;

constexpr auto kKnownLibraries = std::to_array<KnownLibrary>({
    // Not "libc-", as "libc-client.so" begins.
    {kLibc, {"libc.so", "libc-2", "libc.musl-", "ld-musl"}},
    {kLibcPart, {"libpthread", "ld-linux", "[vdso]"}},
    {kNccl, {"libnccl", "librccl", "libmscclpp"}},
    {kGloo, {"libgloo"}},
    {kMpi, {"libmpi.so", "libmpi-", "libmpi_", "libmpich", "libmpicxx", "libmpifort", "libpmpi"}},
    {kMpiPart, {"mca_"}},
    {kMpiBase, {"libopen-pal", "libopen-rte", "libevent", "libpmix"}},
    {kTransport, {"libucp", "libuct", "libucs", "libfabric"}},
    {kTorch, {"libtorch.so", "libtorch_cpu", "libtorch_cuda", "libtorch_hip", "libtorch_xpu"}},
    {kJax, {"libjax_common", "xla_extension"}},
    {kFramework,
     {"libccl.so", "libhccl", "libhcomm", "libnvshmem", "libsmddp", "libtensorflow",
      "_pywrap_tensorf", "libtpu.so", "libpaddle", "libmindspore", "libmxnet", "libhorovod",
      "libnrt.so", "_raylet"}},
    {kCuda, {"libcuda.so"}},
    {kRocm, {"libhsa-runtime64"}},
    {kLevelZero, {"libze_intel_gpu"}},
});

}  // namespace

std::span<const KnownLibrary> known_libraries() {
  return kKnownLibraries;
}

Library library_of(std::string_view path) {
  const std::string_view file = base_name(path);
  for (const KnownLibrary& known : kKnownLibraries) {
    for (const std::string_view name : known.names) {
      if (!name.empty() && file.starts_with(name)) {
        return known.library;
      }
    }
  }
  return kOther;
}

bool is_for_ranks(Library library) {
  return library == kNccl || library == kGloo || library == kMpi || library == kTransport ||
         library == kTorch || library == kJax || library == kFramework;
}

bool is_driver(Library library) {
  return library == kCuda || library == kRocm || library == kLevelZero;
}

bool is_device_backend(std::string_view backend) {
  return backend == "nccl" || backend == "nccl2" || backend == "xccl";
}

}  // namespace oddrank::snapshot
