// The thread control block lies after the descriptor, which begins with 24 words of padding and
// then has a list's two pointers, so that its neighbours in the list of all threads point back to
// it.
#include "waits/machine/thread_descriptor.h"

namespace oddrank::waits {
namespace {

constexpr std::uint64_t kListInDescriptor = 192;

struct ListNode {
  std::uint64_t next;
  std::uint64_t previous;
};

}  // namespace

std::uint64_t tid_in_descriptor() {
  return 208;
}

bool is_thread_descriptor(const attach::Target& target, std::uint64_t address) {
  const std::uint64_t own = address + kListInDescriptor;
  const auto node = attach::read_object<ListNode>(target, attach::Addr{own});
  if (!node || node->next == 0 || node->previous == 0) {
    return false;
  }
  const auto next = attach::read_object<ListNode>(target, attach::Addr{node->next});
  const auto previous = attach::read_object<ListNode>(target, attach::Addr{node->previous});
  return next && previous && next->previous == own && previous->next == own;
}

}  // namespace oddrank::waits
