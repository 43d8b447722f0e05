// Which library a file is, by the beginning of its name: the one catalogue. A library goes by
// several names (RCCL and MSCCL++ take the place of NCCL, with its functions), and whatever holds
// of a library holds under each of them. What a library is to a question (may its threads spin? are
// its frames shown?) is decided where the question is asked, of the library and never of a name.
#pragma once

#include <array>
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
  kMpiBase,    // what MPI runs on, and launchers as well
  kTransport,  // UCX, libfabric
  kTorch,      // c10d and its backends
  kJax,
  kFramework,  // any other through which ranks communicate, or that contains such a library
  kCuda,       // the driver's part in the process, without the compiler: a thread in there works
  kRocm,
  kLevelZero,
};

struct KnownLibrary {
  Library library = Library::kOther;
  std::array<std::string_view, 14> names{};  // beginnings of files' names; "" = none
};

std::span<const KnownLibrary> known_libraries();

// Takes a path, "/usr/lib/libnccl.so.2", or "[vdso]".
Library library_of(std::string_view path);

// Returns whether frames there are of the C library, which the program has called.
constexpr bool is_libc(Library library) {
  return library == Library::kLibc || library == Library::kLibcPart;
}

inline bool is_libc(std::string_view path) {
  return is_libc(library_of(path));
}

// Returns whether it is a library through which ranks communicate, or a framework that has one
// inside; launchers have none.
bool is_for_ranks(Library library);

// Returns whether it is the part of a GPU's driver that is loaded into the process, and names only
// its entry points.
bool is_driver(Library library);

// Returns whether calls of this backend of torch end on a device, at which its works wait.
bool is_device_backend(std::string_view backend);

}  // namespace oddrank::snapshot
