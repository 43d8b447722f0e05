#include "snapshot/libraries/known_libraries.h"

#include <algorithm>
#include <array>

#include "base/base_name.h"

namespace oddrank::snapshot {
namespace {

using enum Library;

constexpr auto kKnownLibraries = std::to_array<KnownLibrary>({
    {"libc.so", kLibc},
    {"libc-2", kLibc},  // and not "libc-client.so"
    {"libc.musl-", kLibc},
    {"libpthread", kLibc},
    {"ld-linux", kLibc},
    {"ld-musl", kLibc},
    {"[vdso]", kLibc},
    {"libnccl", kNccl},
    {"librccl", kNccl},
    {"libmscclpp", kNccl},
    {"libgloo", kGloo},
    {"libmpi.so", kMpi},
    {"libmpi-", kMpi},  // in wheels
    {"libmpi_", kMpi},
    {"libmpich", kMpi},
    {"libmpicxx", kMpi},
    {"libmpifort", kMpi},
    {"libpmpi", kMpi},
    {"mca_", kMpiPart},
    {"libopen-pal", kMpiBase},
    {"libopen-rte", kMpiBase},
    {"libevent", kMpiBase},  // which Open MPI asks in between
    {"libpmix", kMpiBase},
    {"libucp", kTransport},
    {"libuct", kTransport},
    {"libucs", kTransport},
    {"libfabric", kTransport},
    {"libtorch.so", kTorch},  // empty since 1.5
    {"libtorch_cpu", kTorch},
    {"libtorch_cuda", kTorch},
    {"libtorch_hip", kTorch},
    {"libtorch_xpu", kTorch},
    {"libjax_common", kJax},
    {"xla_extension", kJax},
    {"libccl.so", kFramework},
    {"libhccl", kFramework},
    {"libhcomm", kFramework},
    {"libnvshmem", kFramework},
    {"libsmddp", kFramework},
    {"libtensorflow", kFramework},
    {"_pywrap_tensorf", kFramework},
    {"libtpu.so", kFramework},
    {"libpaddle", kFramework},
    {"libmindspore", kFramework},
    {"libmxnet", kFramework},
    {"libhorovod", kFramework},
    {"libnrt.so", kFramework},
    {"libcuda.so", kCuda},
    {"libnvidia-ptxjitcompiler", kCudaCompiler},
    {"libhsa-runtime64", kRocm},
    {"libze_intel_gpu", kLevelZero},
});

}  // namespace

std::span<const KnownLibrary> known_libraries() {
  return kKnownLibraries;
}

Library library_of(std::string_view path) {
  const std::string_view file = base_name(path);
  const auto* at =
      std::find_if(kKnownLibraries.begin(), kKnownLibraries.end(),
                   [file](const KnownLibrary& known) { return file.starts_with(known.start); });
  return at == kKnownLibraries.end() ? kOther : at->library;
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
