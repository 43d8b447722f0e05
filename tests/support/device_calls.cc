// Prints the table of calls that wait for a device (waits/device_calls.h), for tests in Python, one
// row a line: "KIND LIBRARY FUNCTION", KIND is waits, may_wait or polls.
#include "waits/device_calls.h"

#include <array>
#include <cstdio>
#include <string>

int main() {
  using oddrank::waits::DeviceCall;
  constexpr std::array<const char*, 3> kNames = {"waits", "may_wait", "polls"};
  for (const DeviceCall& call : oddrank::waits::device_calls()) {
    std::printf("%s %s %s\n", kNames[static_cast<std::size_t>(call.kind)],
                std::string(call.library).c_str(), std::string(call.function).c_str());
  }
  return 0;
}
