// Where the live page is served: the address in --serve=ADDR, and the URL for a browser.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace oddrank::serve {

struct ListenAddress {
  std::string host = "127.0.0.1";  // an IP address, without brackets
  std::uint16_t port = 0;          // 0: any free one
};

// Reads "8080", ":8080", "10.0.0.7:8080", "localhost:8080", "[::1]:8080"; "" is the default. Host
// names other than localhost are refused, since a name may have several addresses. kUsage.
Result<ListenAddress> parse_listen_address(std::string_view text);

// Returns whether only processes of this machine reach it.
bool is_loopback(const ListenAddress& address);

// Returns whether it stands for all addresses of this machine (0.0.0.0, ::).
bool is_any_address(const ListenAddress& address);

// Returns whether `host`, as in a URL (an IPv6 address in brackets), is an IP address.
bool is_ip_address(std::string_view host);

// Returns "http://127.0.0.1:8080/"; `own_name` is the host in it if the address stands for all.
std::string url_of(const ListenAddress& address, const std::string& own_name);

}  // namespace oddrank::serve
