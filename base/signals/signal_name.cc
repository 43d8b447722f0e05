#include "base/signals/signal_name.h"

#include <cstring>

namespace oddrank {

std::string signal_name(int number) {
  const char* const name = ::sigabbrev_np(number);
  return name == nullptr ? "signal " + std::to_string(number) : "SIG" + std::string(name);
}

}  // namespace oddrank
