// Reads C++ objects of PyTorch's libraries from a target's memory: the class of an object and its
// texts. The names in run-time type information identify classes, also in stripped libraries; no
// symbol is needed.
//
// Source: the Itanium C++ ABI (a virtual table follows the address of its type_info, whose second
// word is the name), libstdc++'s two layouts of std::string.
//
// The offset of a member, from the machine code of its getter: one load and a return. So a library
// of any version, even a stripped one, shows its own layout.
//
// x86-64: `mov disp(%rdi),%rax; ret`, as all public wheels of torch 2.4 to 2.15 have it; aarch64:
// `ldr x0,[x0,#disp]; ret`. Each machine's source is machine/NAME_getter.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cpython/remote_reader.h"

namespace oddrank::collectives {

using attach::Addr;

// Returns the mangled name of the object's own class ("N4c10d16ProcessGroupGlooE"), of at most 128
// characters; "" if it is not an object with a virtual table, or cannot be read.
std::string class_of(cpython::RemoteReader& reader, Addr object);

// The std::string that a library was built with.
enum class StringAbi : std::uint8_t {
  kOld = 0,  // one pointer; the length is 24 bytes before the text
  kNew,      // pointer, length, and the capacity or the text itself: 32 bytes
};

// Returns the size of one std::string.
constexpr std::uint64_t string_size(StringAbi abi) {
  return abi == StringAbi::kOld ? 8 : 32;
}

// Offsets in libstdc++'s std::unordered_map, and in a node of one; the key follows the next node's
// address.
inline constexpr std::uint64_t kTableFirst = 16;
inline constexpr std::uint64_t kTableSize = 24;
inline constexpr std::uint64_t kTableLoad = 32;  // a float: the greatest load of a bucket, 1.0
inline constexpr std::uint64_t kTableBytes = 56;
inline constexpr std::uint64_t kTableKey = 8;

// Returns the nodes of a std::unordered_map; nullopt if it has more than `most`, or not as many as
// its count.
std::optional<std::vector<Addr>> nodes_of_table(cpython::RemoteReader& reader,
                                                Addr table,
                                                std::uint64_t most);

// Returns the text; nullopt if it is longer than `most` bytes, or there is no string.
std::optional<std::string> read_text(cpython::RemoteReader& reader,
                                     Addr at,
                                     StringAbi abi,
                                     std::size_t most);

// How many bytes of a function are read.
inline constexpr std::size_t kGetterBytes = 16;

// Returns the offset of the 64-bit member that the function returns; nullopt if the function is not
// such a getter. `code`: its first bytes.
std::optional<std::uint32_t> offset_in_getter(std::span<const std::byte> code);

// Returns whether the function does nothing but return.
bool is_empty_function(std::span<const std::byte> code);

}  // namespace oddrank::collectives
