#include "cpython/objects/signal_handler.h"

#include "cpython/objects/scalars.h"
#include "cpython/objects/types.h"

namespace oddrank::cpython {

int handled_signal(PythonMemory& memory, Addr frame, Addr caller) {
  const Layout& layout = memory.layout();
  constexpr std::size_t kPlaces = 2;  // of the number: the first argument, or that after `self`
  constexpr std::int64_t kMaxSignal = 64;
  if (frame == Addr{} || caller == Addr{}) {
    return 0;
  }
  for (std::size_t i = 0; i < kPlaces; ++i) {
    Addr at = frame + layout.frame.localsplus + i * kPointerSize;
    // A handler with *args has both in a tuple.
    const Addr first = without_tags(layout, memory.pointer_or_null(at));
    const auto size = memory.value<std::int64_t>(first + layout.object.size);
    if (first != Addr{} && size == 2 && type_name(memory, first) == "tuple") {
      at = first + layout.object.tuple_items;
    }
    const Addr number = without_tags(layout, memory.pointer_or_null(at));
    const Addr object = without_tags(layout, memory.pointer_or_null(at + kPointerSize));
    if (number == Addr{} || object == Addr{}) {
      return 0;
    }
    // Up to 3.10 a frame is itself the object; from 3.11 on the object points to the frame.
    const bool same =
        layout.frame.owner == kAbsent && layout.frame.is_entry == kAbsent
            ? object == caller
            : memory.pointer_or_null(object + layout.object.head + kPointerSize) == caller;
    if (!same) {
      continue;
    }
    const auto value = read_int(memory, number);
    return value && *value > 0 && *value <= kMaxSignal ? static_cast<int>(*value) : 0;
  }
  return 0;
}

}  // namespace oddrank::cpython
