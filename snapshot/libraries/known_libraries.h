// The catalogue of libraries, by the beginnings of their files' names. A library has several names
// (RCCL and MSCCL++ replace NCCL, with the same functions), and is treated alike under each. The
// properties of a library (may its threads spin? are its frames shown?) are decided where they are
// used, by Library and never by a name.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace oddrank::snapshot {

enum class Library : std::uint8_t {
  kOther = 0,
  kLibc,      // the file that holds the C library's variables; musl's is its loader, too
  kLibcPart,  // glibc's loader and its threads; the vdso
  kNccl,
  kGloo,
  kMpi,
  kMpiPart,    // a component of Open MPI; its launchers load some, too
  kMpiBase,    // what MPI and its launchers run on
  kTransport,  // UCX, libfabric
  kTorch,      // c10d and its backends
  kJax,
  kFramework,  // another one through which ranks communicate, or that contains such a library
  kCuda,       // the driver's part in the process; without the compiler, where a thread works
  kRocm,
  kLevelZero,
};

struct KnownLibrary {
  Library library = Library::kOther;
  std::string_view name;  // the beginning of its file's name
};

// Returns the catalogue.
std::span<const KnownLibrary> known_libraries();

// Returns the library of a path, "/usr/lib/libnccl.so.2", or of "[vdso]".
Library library_of(std::string_view path);

// Return whether it is a part of the C library.
constexpr bool is_libc(Library library) {
  return library == Library::kLibc || library == Library::kLibcPart;
}

inline bool is_libc(std::string_view path) {
  return is_libc(library_of(path));
}

// Returns whether only ranks have it: a library through which they communicate, or a framework that
// contains one; launchers have none.
bool is_for_ranks(Library library);

// Returns whether it is the part of a GPU's driver in the process, which has symbols only for its
// entry points.
bool is_driver(Library library);

// Returns whether calls of this backend of torch end on a device, so that a wait for them is a wait
// for the device.
bool is_device_backend(std::string_view backend);

}  // namespace oddrank::snapshot
