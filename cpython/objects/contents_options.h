// How many levels of objects `--locals` shows (contents.h).
#pragma once

namespace oddrank::cpython {

inline constexpr unsigned kUsualContentsDepth = 2;
inline constexpr unsigned kMaxContentsDepth = 8;

struct ContentsOptions {
  // Levels of nesting: 1 shows the items of a dict, but not the items of lists in it. 0: the short
  // form, which the diagnosis reads (objects.h).
  unsigned depth = 0;
  bool addresses = false;  // "[1, 2]@0x7f31c0": which objects are the same one
};

}  // namespace oddrank::cpython
