#include "cpython/layouts/layout.h"

#include <map>
#include <string_view>

#include "base/ascii.h"
#include "base/machine.h"

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

const Layout* x86_layout(const Version& version, bool free_threaded) {
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

// The tables are for x86-64. Elsewhere only fields behind the mutexes of a GIL differ: glibc's
// mutexes are larger on aarch64 (48 bytes, not 40), and a GIL has two (scripts/cpython_offsets.c,
// run on both).
Layout moved_behind_mutexes(Layout layout) {
  constexpr std::uint32_t kGrowth = 16;
  layout.gil.size += layout.gil.size == 0 ? 0 : kGrowth;
  if (layout.runtime.tstate_current != kAbsent && layout.runtime.gil != kAbsent &&
      layout.runtime.tstate_current > layout.runtime.gil) {
    layout.runtime.tstate_current += kGrowth;
  }
  return layout;
}

using MovedLayouts = std::map<const Layout*, Layout>;

void add_moved(const Version& version, MovedLayouts& moved) {
  for (const bool free_threaded : {false, true}) {
    if (const Layout* layout = x86_layout(version, free_threaded)) {
      moved.try_emplace(layout, moved_behind_mutexes(*layout));
    }
  }
}

MovedLayouts all_moved() {
  constexpr int kMinors = 64;
  MovedLayouts moved;
  Version version;
  version.major = 3;
  for (int minor = 0; minor < kMinors; ++minor) {
    version.minor = static_cast<decltype(version.minor)>(minor);
    for (const char* text : {"", "3.7.0"}) {  // a table may be of the first patches only
      version.text = text;
      add_moved(version, moved);
    }
  }
  return moved;
}

}  // namespace

const Layout* static_layout(const Version& version, bool free_threaded) {
  const Layout* layout = x86_layout(version, free_threaded);
  if (layout == nullptr || kOurMachine == Machine::kAmd64) {
    return layout;
  }
  static const MovedLayouts moved = all_moved();
  return &moved.at(layout);
}

bool publishes_offsets(const Version& version) {
  return version.major == 3 && version.minor >= 13;
}

}  // namespace oddrank::cpython
