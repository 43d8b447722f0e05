#include "cpython/layouts/layout.h"

#include <string_view>

#include "base/ascii.h"

namespace oddrank::cpython {
namespace {

// Returns whether it is one of "3.7.0" to "3.7.3", pre-releases included.
bool is_first_patch(std::string_view text) {
  constexpr std::string_view kStart = "3.7.";
  const std::string_view patch =
      text.substr(0, kStart.size()) == kStart ? text.substr(kStart.size()) : std::string_view();
  const bool one_digit = patch.size() == 1 || (patch.size() > 1 && !is_digit(patch[1]));
  return one_digit && patch[0] >= '0' && patch[0] <= '3';
}

}  // namespace

const Layout* static_layout(const Version& version, bool free_threaded) {
  if (version.major != 3) {
    return nullptr;
  }
  switch (version.minor) {
    case 6:
      return &layout_3_6();
    case 7:
      return &layout_3_7(is_first_patch(version.text));
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
