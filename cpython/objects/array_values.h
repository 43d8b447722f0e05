// The elements of small arrays as text. Private to arrays.cc, which finds where they lie.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cpython/remote_reader.h"

namespace oddrank::cpython {

struct ArrayPlace {
  Addr data{};                        // of the first element
  std::vector<std::int64_t> sizes;    // of each dimension
  std::vector<std::int64_t> strides;  // bytes between neighbours in each dimension
  std::string_view type;              // of an element: "float32", "bfloat16", "bool"
};

// Returns "[[1.0, 2.0], [3.0, 4.0]]", or "1.5" for an array without dimensions. Returns "" if there
// are more than `limit` elements, or none, or they cannot be read, or they are not numbers.
std::string array_values(RemoteReader& reader, const ArrayPlace& place, std::size_t limit);

// Returns one element of this type; "" if it cannot be read.
std::string element_text(RemoteReader& reader, Addr at, std::string_view type);

}  // namespace oddrank::cpython
