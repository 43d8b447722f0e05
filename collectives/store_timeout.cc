#include "collectives/store_timeout.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "collectives/name_table.h"
#include "collectives/torch_groups.h"
#include "cpython/objects/types.h"

namespace oddrank::collectives {
namespace {

using cpython::Layout;
using cpython::PythonMemory;
using cpython::RemoteReader;
using std::chrono::milliseconds;

constexpr std::int64_t kOwnTimeout = 300'000;  // of a PrefixStore
constexpr std::array<std::uint64_t, 2> kTimeoutOffsets{16, 24};
constexpr int kMaxWrappers = 8;
constexpr milliseconds kMinTimeout{1000};
constexpr milliseconds kMaxTimeout{std::chrono::hours(24 * 366)};

// libstdc++'s string: a pointer, the size, and the capacity or the text itself.
constexpr std::uint64_t kStringSize = 32;
constexpr std::uint64_t kMaxInside = 15;
constexpr std::uint64_t kMaxPrefix = 65536;

bool is_string(RemoteReader& reader, Addr at) {
  const auto data = reader.pointer(at);
  const auto size = reader.value<std::uint64_t>(at + 8);
  if (!data || !size || *size > kMaxPrefix) {
    return false;
  }
  if (*data == at + 16) {
    return *size <= kMaxInside;
  }
  return *data != Addr{} && reader.value<std::uint64_t>(at + 16).value_or(0) >= *size;
}

bool is_prefix_store(RemoteReader& reader, Addr store, std::uint64_t timeout_offset) {
  return reader.value<std::int64_t>(store + timeout_offset) == kOwnTimeout &&
         is_string(reader, store + timeout_offset + 8);
}

}  // namespace

Addr prefix_store_of(PythonMemory& memory, Addr object) {
  const Layout& layout = memory.layout();
  if (object == Addr{} || !cpython::type_name(memory, object).ends_with("PrefixStore")) {
    return {};
  }
  const Addr store = memory.pointer_or_null(object + layout.object.head);
  const Addr holder = memory.pointer_or_null(object + layout.object.head + 8);
  return store == holder ? store : Addr{};
}

std::optional<milliseconds> read_store_timeout(RemoteReader& reader, Addr store) {
  const Addr vtable = reader.pointer_or_null(store);
  const auto* const offset =
      std::find_if(kTimeoutOffsets.begin(), kTimeoutOffsets.end(),
                   [&](std::uint64_t each) { return is_prefix_store(reader, store, each); });
  if (vtable == Addr{} || offset == kTimeoutOffsets.end()) {
    return std::nullopt;
  }
  for (int i = 0; i < kMaxWrappers && is_prefix_store(reader, store, *offset); ++i) {
    store = reader.pointer_or_null(store + *offset + 8 + kStringSize);
    const Addr next_vtable = store == Addr{} ? Addr{} : reader.pointer_or_null(store);
    if (next_vtable == Addr{}) {
      return std::nullopt;
    }
    if (next_vtable != vtable) {
      const milliseconds timeout(reader.value<std::int64_t>(store + *offset).value_or(0));
      return timeout >= kMinTimeout && timeout <= kMaxTimeout ? std::optional(timeout)
                                                              : std::nullopt;
    }
  }
  return std::nullopt;
}

std::optional<milliseconds> read_group_timeout(const cpython::PythonProcess& python) {
  PythonMemory memory = python.memory();
  const NameTable modules = NameTable::of_modules(memory, python.main_interpreter());
  const auto torch = read_torch_tables(memory, modules);
  if (!torch) {
    return std::nullopt;
  }
  for (const TorchGroup& group : torch->groups) {
    if (group.is_default) {
      return read_store_timeout(memory, prefix_store_of(memory, group.store));
    }
  }
  return std::nullopt;
}

}  // namespace oddrank::collectives
