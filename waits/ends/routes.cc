#include "waits/ends/routes.h"

#include <sys/socket.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <tuple>
#include <utility>

#include "base/parse_number.h"
#include "base/split.h"
#include "waits/ends/socket_table.h"

namespace oddrank::waits {
namespace {

using Address = std::array<std::uint8_t, 16>;

constexpr std::size_t kMappedBits = 96;  // before an address of IPv4 in IPv6
constexpr std::uint32_t kUp = 1;         // RTF_UP
constexpr std::uint32_t kReject = 0x200;

Address mapped(std::uint32_t in_network_order) {
  Address address{};
  address[10] = address[11] = 0xff;
  std::memcpy(address.data() + 12, &in_network_order, sizeof in_network_order);
  return address;
}

std::optional<Address> parse_target(const std::string& endpoint) {
  const auto parsed = parse_endpoint(endpoint);
  if (!parsed) {
    return std::nullopt;
  }
  Address address = mapped(parsed->address[0]);
  if (parsed->family == AF_INET6) {
    std::memcpy(address.data(), parsed->address.data(), address.size());
  }
  return address;
}

bool has_prefix(const Address& address, const Address& to, std::size_t bits) {
  const std::size_t whole = bits / 8;
  if (!std::equal(to.begin(), to.begin() + static_cast<std::ptrdiff_t>(whole), address.begin())) {
    return false;
  }
  const std::size_t rest = bits % 8;
  return rest == 0 || ((address[whole] ^ to[whole]) >> (8 - rest)) == 0;
}

}  // namespace

void Routes::add(Route route) {
  if (routes_.size() < kMaxRoutes && !route.device.empty()) {
    routes_.push_back(std::move(route));
  }
}

// "eth0 0000A8C0 00000000 0001 0 0 0 00FFFFFF 0 0 0"; addresses as in socket_table.cc.
void Routes::add_v4(std::string_view text) {
  for (const std::string_view line : split(text, '\n')) {
    const auto words = split_blanks(line);
    if (words.size() < 8) {
      continue;
    }
    const auto to = parse_number<std::uint32_t>(words[1], 16);
    const auto flags = parse_number<std::uint32_t>(words[3], 16);
    const auto mask = parse_number<std::uint32_t>(words[7], 16);
    if (to && flags && mask && (*flags & kUp) != 0 && (*flags & kReject) == 0) {
      add({mapped(*to), kMappedBits + static_cast<std::size_t>(std::popcount(*mask)),
           parse_number<std::uint32_t>(words[6]).value_or(0), std::string(words[0])});
    }
  }
}

// "fe80000...0 40 000...0 00 000...0 00000100 00000001 00000000 00000001 eth0"
void Routes::add_v6(std::string_view text) {
  for (const std::string_view line : split(text, '\n')) {
    const auto words = split_blanks(line);
    if (words.size() < 10 || words[0].size() != 32) {
      continue;
    }
    Route route;
    bool sound = true;
    for (std::size_t i = 0; i < route.to.size(); ++i) {
      const auto byte = parse_number<std::uint8_t>(words[0].substr(2 * i, 2), 16);
      sound = sound && byte;
      route.to[i] = byte.value_or(0);
    }
    const auto bits = parse_number<std::uint8_t>(words[1], 16);
    const auto flags = parse_number<std::uint32_t>(words[8], 16);
    if (sound && bits && *bits <= 128 && flags && (*flags & kUp) != 0 && (*flags & kReject) == 0) {
      route.bits = *bits;
      route.metric = parse_number<std::uint32_t>(words[5], 16).value_or(0);
      route.device = std::string(words[9]);
      add(std::move(route));
    }
  }
}

std::string Routes::device_to(const std::string& endpoint) const {
  const auto address = parse_target(endpoint);
  if (!address) {
    return {};
  }
  const bool is_v4 = has_prefix(*address, mapped(0), kMappedBits);
  const Route* best = nullptr;
  for (const Route& route : routes_) {
    const bool fits =
        is_v4 == (route.bits >= kMappedBits && has_prefix(route.to, mapped(0), kMappedBits));
    if (fits && has_prefix(*address, route.to, route.bits) &&
        (best == nullptr ||
         std::pair(best->bits, route.metric) < std::pair(route.bits, best->metric))) {
      best = &route;
    }
  }
  return best == nullptr ? std::string() : best->device;
}

}  // namespace oddrank::waits
