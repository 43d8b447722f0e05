#include "waits/ends/routes.h"

#include "tests/support/catch.h"

namespace oddrank::waits {
namespace {

constexpr const char* kV4 =
    "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
    "eth0\t00000000\t0100000A\t0003\t0\t0\t100\t00000000\t0\t0\t0\n"
    "ib1\t0000100A\t00000000\t0001\t0\t0\t200\t0000FFFF\t0\t0\t0\n"
    "ib0\t0000100A\t00000000\t0001\t0\t0\t100\t0000FFFF\t0\t0\t0\n"
    "lo\t0000A8C0\t00000000\t0201\t0\t0\t0\t0000FFFF\t0\t0\t0\n";  // refuses
constexpr const char* kV6 =
    "fe800000000000000000000000000000 40 00000000000000000000000000000000 00 "
    "00000000000000000000000000000000 00000100 00000001 00000000 00000001     eth1\n"
    "00000000000000000000000000000000 00 00000000000000000000000000000000 00 "
    "fe800000000000000000000000000001 00000400 00000001 00000000 00000003     eth2\n";

TEST_CASE("packets leave by the route that fits best, and by the better one of two") {
  Routes routes;
  routes.add_v4(kV4);
  routes.add_v6(kV6);
  CHECK(routes.device_to("10.16.3.4:29500") == "ib0");
  CHECK(routes.device_to("10.17.3.4:29500") == "eth0");
  CHECK(routes.device_to("192.168.3.4:29500") == "eth0");
  CHECK(routes.device_to("[fe80::7]:80") == "eth1");
  CHECK(routes.device_to("[2001:db8::1]:80") == "eth2");
}

TEST_CASE("routes of IPv4 lead to no address of IPv6, nor the converse") {
  Routes only_v4;
  only_v4.add_v4(kV4);
  CHECK(only_v4.device_to("[2001:db8::1]:80").empty());
  Routes only_v6;
  only_v6.add_v6(kV6);
  CHECK(only_v6.device_to("10.16.3.4:29500").empty());
}

TEST_CASE("lines that are no routes, and texts that are no addresses") {
  Routes routes;
  routes.add_v4("eth0 00000000\neth0 zz 0 0003 0 0 0 00000000\n\n");
  routes.add_v6(
      "fe80 40 0 0 0 0 0 0 0001 eth0\nzz800000000000000000000000000000 40 a b c 0 1 0 1 eth0\n");
  for (const char* text : {"10.0.0.1:80", "[fe80::1]:80", "", ":", "10.0.0.1", "[]:1", "x:1"}) {
    CAPTURE(text);
    CHECK(routes.device_to(text).empty());
  }
}

}  // namespace
}  // namespace oddrank::waits
