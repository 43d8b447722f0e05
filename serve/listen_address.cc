#include "serve/listen_address.h"

#include <array>
#include <optional>

#include <arpa/inet.h>
#include <netinet/in.h>

#include "base/parse_number.h"
#include "base/printable.h"

namespace oddrank::serve {
namespace {

std::optional<in_addr> as_ipv4(const std::string& host) {
  in_addr address{};
  return ::inet_pton(AF_INET, host.c_str(), &address) == 1 ? std::optional(address) : std::nullopt;
}

std::optional<in6_addr> as_ipv6(const std::string& host) {
  in6_addr address{};
  return ::inet_pton(AF_INET6, host.c_str(), &address) == 1 ? std::optional(address) : std::nullopt;
}

tl::unexpected<Error> no_address(std::string_view text) {
  return fail(Errc::kUsage, "--serve=" + printable(text, 200) + " is not an address",
              "write --serve, --serve=8080 or --serve=10.0.0.7:8080, with an IP address of this "
              "machine");
}

}  // namespace

Result<ListenAddress> parse_listen_address(std::string_view text) {
  ListenAddress address;
  if (text.empty()) {
    return address;
  }
  const std::size_t colon = text.rfind(':');
  const auto port =
      parse_number<std::uint16_t>(colon == std::string_view::npos ? text : text.substr(colon + 1));
  if (!port) {
    return no_address(text);
  }
  address.port = *port;
  std::string host(colon == std::string_view::npos ? std::string_view() : text.substr(0, colon));
  if (host.empty() || host == "localhost") {
    return address;
  }
  const bool brackets = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (brackets) {
    host = host.substr(1, host.size() - 2);
  }
  if (brackets ? !as_ipv6(host) : !as_ipv4(host)) {
    return no_address(text);
  }
  address.host = host;
  return address;
}

bool is_loopback(const ListenAddress& address) {
  if (const auto ipv4 = as_ipv4(address.host)) {
    return (ntohl(ipv4->s_addr) >> 24) == IN_LOOPBACKNET;
  }
  const auto ipv6 = as_ipv6(address.host);
  return ipv6 && IN6_IS_ADDR_LOOPBACK(&*ipv6);
}

bool is_any_address(const ListenAddress& address) {
  if (const auto ipv4 = as_ipv4(address.host)) {
    return ipv4->s_addr == INADDR_ANY;
  }
  const auto ipv6 = as_ipv6(address.host);
  return ipv6 && IN6_IS_ADDR_UNSPECIFIED(&*ipv6);
}

bool is_ip_address(std::string_view host) {
  return host.size() > 2 && host.front() == '[' && host.back() == ']'
             ? as_ipv6(std::string(host.substr(1, host.size() - 2))).has_value()
             : as_ipv4(std::string(host)).has_value();
}

std::string url_of(const ListenAddress& address, const std::string& own_name) {
  const std::string host = is_any_address(address)                       ? own_name
                           : address.host.find(':') != std::string::npos ? "[" + address.host + "]"
                                                                         : address.host;
  return "http://" + host + ":" + std::to_string(address.port) + "/";
}

}  // namespace oddrank::serve
