// The name of a file without its folder.
#pragma once

#include <string_view>

namespace oddrank {

// Returns "python3" for "/usr/bin/python3"; a path that ends with '/' has an empty name. The result
// borrows from the path.
constexpr std::string_view base_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

}  // namespace oddrank
