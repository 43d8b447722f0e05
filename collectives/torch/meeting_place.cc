#include "collectives/torch/meeting_place.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "base/printable.h"
#include "collectives/name_table.h"
#include "collectives/torch_groups.h"
#include "cpython/objects/types.h"

namespace oddrank::collectives {
namespace {

constexpr std::string_view kPrefixStore = "N4c10d11PrefixStoreE";
constexpr std::string_view kTcpStore = "N4c10d8TCPStoreE";
constexpr std::string_view kFileStore = "N4c10d9FileStoreE";
// Behind the timeout, of 8 bytes; the reference counts before it took 16 bytes once, now 8.
constexpr std::array<std::uint64_t, 2> kFields{24, 32};
constexpr int kMaxPrefixes = 8;
constexpr std::size_t kMaxText = 1024;
constexpr std::chrono::milliseconds kMinTimeout{1000};
constexpr std::chrono::milliseconds kMaxTimeout{std::chrono::hours(24 * 366)};

struct Text {
  std::string value;
  std::uint64_t at = 0;  // in its store
  Addr end{};
};

// Returns the text at either of the two places, as either kind of string.
std::optional<Text> first_field(cpython::RemoteReader& reader, Addr store) {
  for (const StringAbi abi : {StringAbi::kNew, StringAbi::kOld}) {
    for (const std::uint64_t at : kFields) {
      auto text = read_text(reader, store + at, abi, kMaxText);
      if (text && !text->empty() && printable(*text, kMaxText) == *text) {
        return Text{*std::move(text), at, store + at + string_size(abi)};
      }
    }
  }
  return std::nullopt;
}

std::string where_is(cpython::RemoteReader& reader, Addr base) {
  const std::string kind = class_of(reader, base);
  const auto text =
      kind == kTcpStore || kind == kFileStore ? first_field(reader, base) : std::nullopt;
  if (!text || kind == kFileStore) {
    return text ? text->value : std::string();
  }
  const auto port = reader.value<std::uint16_t>(text->end);
  return port && *port != 0 ? text->value + ":" + std::to_string(*port) : std::string();
}

}  // namespace

std::optional<MeetingPlace> read_meeting_place(cpython::PythonMemory& memory, Addr store) {
  if (store == Addr{} || !cpython::type_name(memory, store).ends_with("Store")) {
    return std::nullopt;
  }
  MeetingPlace place;
  std::uint64_t fields = 0;
  place.base = memory.pointer_or_null(store + memory.layout().object.head);
  for (int i = 0; i < kMaxPrefixes && class_of(memory, place.base) == kPrefixStore; ++i) {
    const auto prefix = first_field(memory, place.base);
    if (!prefix) {
      return std::nullopt;
    }
    place.prefixes.insert(0, prefix->value + (prefix->value.ends_with('/') ? "" : "/"));
    place.base = memory.pointer_or_null(prefix->end);
    fields = prefix->at;
  }
  if (class_of(memory, place.base).empty()) {
    return std::nullopt;
  }
  place.where = where_is(memory, place.base);
  const auto timeout =
      fields != 0 ? memory.value<std::int64_t>(place.base + fields - 8) : std::nullopt;
  if (timeout && *timeout >= kMinTimeout.count() && *timeout <= kMaxTimeout.count()) {
    place.timeout = std::chrono::milliseconds(*timeout);
  }
  return place;
}

std::optional<std::chrono::milliseconds> read_group_timeout(const cpython::PythonProcess& python) {
  cpython::PythonMemory memory = python.memory();
  const NameTable modules = NameTable::of_modules(memory, python.main_interpreter());
  const auto torch = read_torch_tables(memory, modules);
  if (!torch) {
    return std::nullopt;
  }
  const auto at = std::ranges::find_if(torch->groups, &TorchGroup::is_default);
  const auto place =
      at == torch->groups.end() ? std::nullopt : read_meeting_place(memory, at->store);
  return place ? place->timeout : std::nullopt;
}

}  // namespace oddrank::collectives
