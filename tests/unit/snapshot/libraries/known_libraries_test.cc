#include "snapshot/libraries/known_libraries.h"

#include <string>

#include "tests/support/catch.h"

namespace oddrank::snapshot {
namespace {

TEST_CASE("a library is known by the beginning of its file's name, wherever it is") {
  CHECK(library_of("/usr/lib/libnccl.so.2.21") == Library::kNccl);
  CHECK(library_of("/opt/rocm/lib/librccl.so.1") == Library::kNccl);
  CHECK(library_of("/opt/mscclpp/libmscclpp_nccl.so") == Library::kNccl);
  CHECK(library_of("/x/mpich.libs/libmpi-6b9c5d3f.so.12.3.0") == Library::kMpi);
  CHECK(library_of("/venv/torch/lib/libtorch_hip.so") == Library::kTorch);
  CHECK(library_of("[vdso]") == Library::kLibcPart);
  CHECK(library_of("/lib64/ld-linux-x86-64.so.2") == Library::kLibcPart);
  CHECK(library_of("/lib/ld-musl-x86_64.so.1") == Library::kLibc);
  CHECK(library_of("/usr/lib/x86_64-linux-gnu/libcuda.so.550.54") == Library::kCuda);
  CHECK(library_of("/usr/lib/libcudart.so.12") == Library::kOther);
  CHECK(library_of("/x/mpi4py/MPI.abi3.so") == Library::kOther);
  CHECK(library_of("/home/libnccl/train.so") == Library::kOther);
  CHECK(library_of("/usr/lib/libc-client.so.2007e") == Library::kOther);
  CHECK(library_of("") == Library::kOther);
}

TEST_CASE("each name in the catalogue is found by itself") {
  for (const KnownLibrary& known : known_libraries()) {
    INFO(known.name);
    CHECK(library_of("/lib/" + std::string(known.name) + ".7") == known.library);
  }
}

TEST_CASE("frames in any part of the C library are of it") {
  CHECK(is_libc("/lib/libc.so.6"));
  CHECK(is_libc("/lib/libpthread.so.0"));
  CHECK(is_libc("[vdso]"));
  CHECK_FALSE(is_libc("/lib/libm.so.6"));
}

TEST_CASE("what only MPI's launchers need does not make a rank") {
  CHECK(is_for_ranks(Library::kMpi));
  CHECK(is_for_ranks(Library::kTorch));
  CHECK_FALSE(is_for_ranks(Library::kMpiPart));
  CHECK_FALSE(is_for_ranks(Library::kMpiBase));
  CHECK_FALSE(is_for_ranks(Library::kCuda));
  CHECK_FALSE(is_for_ranks(Library::kOther));
}

}  // namespace
}  // namespace oddrank::snapshot
