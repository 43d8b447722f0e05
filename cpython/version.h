// The version of a CPython, and ways to find it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace oddrank::cpython {

struct Version {
  std::uint32_t major = 0;
  std::uint32_t minor = 0;
  std::string text;  // "3.11.7", "3.13.0rc1"; "3.8" if the patch level is unknown
};

// Reads PY_VERSION_HEX: 0x030b07f0 is 3.11.7. Returns nullopt if that is not a plausible version.
std::optional<Version> version_from_hex(std::uint64_t hex);

// Reads a file name: "libpython3.8.so.1.0", "python3.11", "libpython3.6m.so". Knows the suffixes m,
// d, u and t and their combinations. Returns nullopt for "python3", which has no minor version.
std::optional<Version> version_from_file_name(std::string_view path);

// Searches the constants of the binary for the first C string that ends with "3.MINOR.PATCH"; finds
// no version after 3.10. With `minor`, only that minor version counts.
std::optional<Version> version_from_constants(std::string_view bytes,
                                              std::optional<std::uint32_t> minor);

}  // namespace oddrank::cpython
