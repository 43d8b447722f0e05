#include "node/node_budget.h"

#include <algorithm>

namespace oddrank::node {

void NodeBudget::extend(std::chrono::milliseconds by) {
  all_ = all_.later(by);
  reading_ = reading_.later(by);
}

std::chrono::milliseconds NodeBudget::beside() const {
  constexpr std::chrono::milliseconds kLeast{300};
  return std::max(all_.left() / 3, kLeast);
}

}  // namespace oddrank::node
