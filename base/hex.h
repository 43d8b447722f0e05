// Numbers and bytes as lower-case hexadecimal digits. base/parse_number.h reads them back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace oddrank {

// Returns "7f31c0", without "0x" and without leading zeros.
std::string hex_number(std::uint64_t value);

// Returns two digits for each byte, in the order of the bytes.
std::string hex_bytes(std::span<const std::byte> bytes);

}  // namespace oddrank
