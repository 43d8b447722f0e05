#include "snapshot/libraries/known_libraries.h"

#include <algorithm>
#include <array>

#include "base/base_name.h"

namespace oddrank::snapshot {
namespace {

using enum Library;

constexpr auto kKnownLibraries = std::to_array<KnownLibrary>({
    // Not "libc-", as "libc-client.so" begins.
    {kLibc, "libc.so"},
    {kLibc, "libc-2"},
    {kLibc, "libc.musl-"},
    {kLibc, "ld-musl"},
    {kLibcPart, "libpthread"},
    {kLibcPart, "ld-linux"},
    {kLibcPart, "[vdso]"},
    {kNccl, "libnccl"},
    {kNccl, "librccl"},
    {kNccl, "libmscclpp"},
    {kGloo, "libgloo"},
    {kMpi, "libmpi.so"},
    {kMpi, "libmpi-"},
    {kMpi, "libmpi_"},
    {kMpi, "libmpich"},
    {kMpi, "libmpicxx"},
    {kMpi, "libmpifort"},
    {kMpi, "libpmpi"},
    {kMpiPart, "mca_"},
    {kMpiBase, "libopen-pal"},
    {kMpiBase, "libopen-rte"},
    {kMpiBase, "libevent"},
    {kMpiBase, "libpmix"},
    {kTransport, "libucp"},
    {kTransport, "libuct"},
    {kTransport, "libucs"},
    {kTransport, "libfabric"},
    {kTorch, "libtorch.so"},
    {kTorch, "libtorch_cpu"},
    {kTorch, "libtorch_cuda"},
    {kTorch, "libtorch_hip"},
    {kTorch, "libtorch_xpu"},
    {kJax, "libjax_common"},
    {kJax, "xla_extension"},
    {kFramework, "libccl.so"},
    {kFramework, "libhccl"},
    {kFramework, "libhcomm"},
    {kFramework, "libnvshmem"},
    {kFramework, "libsmddp"},
    {kFramework, "libtensorflow"},
    {kFramework, "_pywrap_tensorf"},
    {kFramework, "libtpu.so"},
    {kFramework, "libpaddle"},
    {kFramework, "libmindspore"},
    {kFramework, "libmxnet"},
    {kFramework, "libhorovod"},
    {kFramework, "libnrt.so"},
    {kFramework, "_raylet"},
    {kCuda, "libcuda.so"},
    {kRocm, "libhsa-runtime64"},
    {kLevelZero, "libze_intel_gpu"},
});

}  // namespace

std::span<const KnownLibrary> known_libraries() {
  return kKnownLibraries;
}

Library library_of(std::string_view path) {
  const std::string_view file = base_name(path);
  const auto* const known = std::ranges::find_if(
      kKnownLibraries, [file](const KnownLibrary& each) { return file.starts_with(each.name); });
  return known == kKnownLibraries.end() ? kOther : known->library;
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
