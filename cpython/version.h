// The version of a CPython, as far as it is known.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace oddrank::cpython {

struct Version {
  std::uint32_t major = 0;
  std::uint32_t minor = 0;
  std::string text;  // "3.11.7", "3.13.0rc1"; "3.8" where the patch level is unknown
};

// PY_VERSION_HEX: 0x030b07f0 is 3.11.7. nullopt if that is no plausible CPython.
std::optional<Version> version_from_hex(std::uint64_t hex);

// From a file name: "libpython3.8.so.1.0", "python3.11", "libpython3.6m.so". Knows the suffixes
// m, d, u and t and their combinations. nullopt for "python3", which tells no minor version.
std::optional<Version> version_from_file_name(std::string_view path);

// From constants of the binary: the first C string that ends with "3.MINOR.PATCH". Up to 3.10; with
// `minor`, only that minor version counts.
std::optional<Version> version_from_constants(std::string_view bytes,
                                              std::optional<std::uint32_t> minor);

}  // namespace oddrank::cpython
