// The devices by which packets leave a network namespace, from the kernel's routing tables as text
// (/proc/PID/net/route, ipv6_route). Rules that choose among several tables are not known.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace oddrank::waits {

class Routes {
 public:
  // Routes beyond this are dropped.
  static constexpr std::size_t kMaxRoutes = 4096;

  // Add the routes of one file. Skip malformed lines.
  void add_v4(std::string_view text);
  void add_v6(std::string_view text);

  // Returns "eth0" for "10.0.0.1:80" or "[fe80::1]:80"; empty if no route leads there.
  std::string device_to(const std::string& endpoint) const;

 private:
  struct Route {
    std::array<std::uint8_t, 16> to{};  // as in IPv6; addresses of IPv4 are mapped
    std::size_t bits = 0;               // that count in `to`
    std::uint32_t metric = 0;
    std::string device;
  };

  void add(Route route);

  std::vector<Route> routes_;
};

}  // namespace oddrank::waits
