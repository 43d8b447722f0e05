// Ways along waits: from thread to thread, from process to process, from task to task. Bounds them
// and finds circles, for all code; the caller says what waits for what.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace oddrank::aggregate {

template <typename T>
struct Way {
  std::vector<T> way;     // each waits for the next; only those before the circle, if there is one
  std::vector<T> circle;  // each waits for the next, the last for the first; may be empty

  // Returns the last one, which waits for none; T{} if there is a circle, or the way is empty.
  T end() const { return circle.empty() && !way.empty() ? way.back() : T{}; }
  std::vector<T> all() const;  // `way`, then `circle`
};

inline constexpr std::size_t kMaxWay = 256;

// Follows at most `most` waits from `first` on. `next`: returns what one waits for; T{} if nothing.
template <typename T, typename Next>
Way<T> follow(T first, const Next& next, std::size_t most = kMaxWay) {
  Way<T> found;
  for (T at = first; at != T{} && found.way.size() < most; at = next(at)) {
    const auto seen = std::ranges::find(found.way, at);
    if (seen != found.way.end()) {
      found.circle.assign(seen, found.way.end());
      found.way.erase(seen, found.way.end());
      break;
    }
    found.way.push_back(at);
  }
  return found;
}

template <typename T>
std::vector<T> Way<T>::all() const {
  std::vector<T> whole = way;
  whole.insert(whole.end(), circle.begin(), circle.end());
  return whole;
}

}  // namespace oddrank::aggregate
