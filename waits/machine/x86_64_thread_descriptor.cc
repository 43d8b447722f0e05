// It begins with its own address, repeated at offset 16; `tid` follows the 704 bytes of the thread
// control block and a list's two pointers.
#include <array>

#include "waits/machine/thread_descriptor.h"

namespace oddrank::waits {

std::uint64_t tid_in_descriptor() {
  return 720;
}

bool is_thread_descriptor(const attach::Target& target, std::uint64_t address) {
  const auto begin =
      attach::read_object<std::array<std::uint64_t, 3>>(target, attach::Addr{address});
  return begin && (*begin)[0] == address && (*begin)[2] == address;
}

}  // namespace oddrank::waits
