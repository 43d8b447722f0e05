#include "stacks/cpython/layout.h"

namespace oddrank::stacks::cpython {

const Layout* static_layout(const Version& version) {
  if (version.major != 3) {
    return nullptr;
  }
  switch (version.minor) {
    case 8:
      return &layout_3_8();
    case 9:
      return &layout_3_9();
    case 10:
      return &layout_3_10();
    case 11:
      return &layout_3_11();
    case 12:
      return &layout_3_12();
    default:
      return nullptr;
  }
}

}  // namespace oddrank::stacks::cpython
