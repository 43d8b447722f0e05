#include "cpython/layouts/layout.h"

namespace oddrank::cpython {

const Layout* static_layout(const Version& version, bool free_threaded) {
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
    case 13:
      return &layout_3_13(free_threaded);
    case 14:
      return &layout_3_14(free_threaded);
    case 15:
      return &layout_3_15(free_threaded);
    default:
      return nullptr;
  }
}

bool publishes_offsets(const Version& version) {
  return version.major == 3 && version.minor >= 13;
}

}  // namespace oddrank::cpython
