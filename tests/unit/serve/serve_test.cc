// The parts of the live page that need no network: addresses, tokens, routes, kept reports.
#include <string>

#include "serve/listen_address.h"
#include "serve/live_reports.h"
#include "serve/route.h"
#include "tests/support/catch.h"

namespace oddrank::serve {
namespace {

const std::string kToken(32, 'a');

Request request_for(const std::string& target, bool post = false) {
  Request request;
  request.get = !post;
  request.post = post;
  request.target = target;
  request.host = "127.0.0.1:8080";
  return request;
}

Place place_of(const Request& request) {
  return route_request(request, {kToken, {"n7"}}).place;
}

TEST_CASE("serve: addresses") {
  CHECK(parse_listen_address("")->host == "127.0.0.1");
  CHECK(parse_listen_address("8080")->port == 8080);
  CHECK(parse_listen_address(":81")->port == 81);
  CHECK(parse_listen_address("localhost:8")->host == "127.0.0.1");
  CHECK(parse_listen_address("10.0.0.7:9")->host == "10.0.0.7");
  CHECK(url_of(*parse_listen_address("[::1]:9"), "n7") == "http://[::1]:9/");
  CHECK(url_of(*parse_listen_address("0.0.0.0:9"), "n7") == "http://n7:9/");
  for (const char* wrong : {"x", "n7:80", "::1:80", "70000", "10.0.0.7:", "[10.0.0.7]:1", "-1"}) {
    INFO(wrong);
    CHECK_FALSE(parse_listen_address(wrong));
  }
  CHECK(is_loopback({"127.3.0.1", 1}));
  CHECK(is_loopback({"::1", 1}));
  CHECK_FALSE(is_loopback({"0.0.0.0", 1}));
  CHECK_FALSE(is_loopback({"10.0.0.7", 1}));
}

TEST_CASE("serve: a token is long, new, and the whole of it counts") {
  const std::string token = make_token();
  CHECK(token.size() == 32);
  CHECK(token != make_token());
  CHECK(is_token(token, token));
  CHECK_FALSE(is_token(token + token, token));
  CHECK_FALSE(is_token(token.substr(1), token));
  CHECK_FALSE(is_token("", token));
  CHECK_FALSE(is_token("", ""));
}

TEST_CASE("serve: what a request is for") {
  const std::string root = "/" + kToken + "/";
  CHECK(place_of(request_for(root)) == Place::kPage);
  CHECK(place_of(request_for(root + "state")) == Place::kState);
  CHECK(route_request(request_for(root + "report/12"), {kToken, {}}).id == 12);
  for (const std::string& wrong :
       {std::string("/"), std::string(), "/" + kToken, root + "../state", root + "report/",
        root + "report/1x", "/" + std::string(32, 'b') + "/", root + "state?x"}) {
    INFO(wrong);
    CHECK(place_of(request_for(wrong)) == Place::kNowhere);
  }
  CHECK(place_of(request_for(root + "read")) == Place::kNoMethod);
  CHECK(place_of(request_for(root, true)) == Place::kNoMethod);
}

TEST_CASE("serve: another site can neither read nor ask for work") {
  Request request = request_for("/" + kToken + "/read", true);
  CHECK(place_of(request) == Place::kRefused);  // no X-Oddrank
  request.marker = "1";
  CHECK(place_of(request) == Place::kReadAgain);
  request.origin = "http://127.0.0.1:8080";
  CHECK(place_of(request) == Place::kReadAgain);
  for (const char* origin : {"null", "http://evil.example", "http://127.0.0.1:8081"}) {
    request.origin = origin;
    CHECK(place_of(request) == Place::kRefused);
  }
  request.origin.clear();
  request.site = "cross-site";
  CHECK(place_of(request) == Place::kRefused);
  for (const char* host : {"evil.example:8080", "", "127.0.0.1.evil.example", "127.0.0.1:x"}) {
    request.host = host;
    CHECK_FALSE(is_own_host(host, {"n7"}));
    CHECK(place_of(request) == Place::kRefused);
  }
  CHECK(is_own_host("[::1]:9", {}));
  CHECK(is_own_host("N7:1", {"n7"}));
}

TEST_CASE("serve: the newest reports are kept, within bounds") {
  History history(3, 100);
  const std::chrono::steady_clock::time_point at;
  for (int i = 0; i < 5; ++i) {
    history.add({"page", "s", "capture"}, at);
  }
  CHECK(history.all().size() == 3);
  CHECK(history.find(2) == nullptr);
  CHECK(history.newest()->id == 5);
  CHECK(history.add_comparison({"c", "", ""}, at, 4, 5) == 6);
  CHECK(history.newest()->id == 5);
  CHECK(history.add_comparison({"d", "", ""}, at, 4, 5) == 7);
  CHECK(history.find(6) == nullptr);
  history.add({std::string(1000, 'x'), "", ""}, at);
  CHECK(history.all().size() == 1);
  CHECK(history.newest()->id == 8);
}

}  // namespace
}  // namespace oddrank::serve
