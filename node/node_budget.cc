#include "node/node_budget.h"

#include <algorithm>

namespace oddrank::node {
namespace {

constexpr std::chrono::milliseconds kLeastBeside{300};

}  // namespace

std::chrono::milliseconds NodeBudget::spent() const {
  return std::chrono::duration_cast<std::chrono::milliseconds>(Deadline::Clock::now() - begun_);
}

void NodeBudget::extend(std::chrono::milliseconds by) {
  all_ = all_.later(by);
  reading_ = reading_.later(by);
}

std::chrono::milliseconds NodeBudget::before() const {
  return std::max(all_.left() / 8, kLeastBeside);
}

std::chrono::milliseconds NodeBudget::beside() const {
  return std::max(all_.left() / 3, kLeastBeside);
}

}  // namespace oddrank::node
