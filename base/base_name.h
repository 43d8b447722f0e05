// The name of a file without its folder.
#pragma once

#include <string_view>

namespace oddrank {

// "/usr/bin/python3" -> "python3"; a path that ends with '/' has an empty name. The result lives as
// long as the path.
constexpr std::string_view base_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

}  // namespace oddrank
