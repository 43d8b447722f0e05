// Decides what a request is for, and whether it may be answered.
//
// The token in the path is checked first: without it, everything is kNowhere, and the client learns
// nothing. But even with it, another site must not make a browser act:
// - The Host field must name this server by an IP address or one of its names. A foreign name that
// points here (DNS rebinding) is refused.
// - A request that makes oddrank work (POST) needs the field X-Oddrank, which browsers do not let
// other sites send unasked. Origin and Sec-Fetch-Site must not show another site.
//
// A request to the live page, and its answer, independent of the network.
//
// The secret in the URL of the live page: a client with it may read the reports.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace oddrank::serve {

// A client's request; all of it is hostile.
struct Request {
  bool get = false;  // neither: another method
  bool post = false;
  std::string target;  // "/TOKEN/state"
  // Fields of the header; "" if absent.
  std::string host;
  std::string origin;
  std::string site;    // Sec-Fetch-Site
  std::string marker;  // X-Oddrank: another site's page cannot send it
};

struct Answer {
  unsigned status = 404;
  std::string_view type = "text/plain; charset=utf-8";
  std::string_view policy = "default-src 'none'; frame-ancestors 'none'";  // for the browser
  // Shared: a report is sent to many clients, and may be dropped meanwhile.
  std::shared_ptr<const std::string> body;
  bool trusted = false;  // the client knows the token
};

enum class Place {
  kNowhere,    // also: the token is wrong
  kRefused,    // by Host or Origin, or without X-Oddrank
  kNoMethod,   // not GET or POST, or the wrong one for this place
  kPage,       // GET /TOKEN/
  kScript,     // GET /TOKEN/live.js
  kStyle,      // GET /TOKEN/live.css
  kState,      // GET /TOKEN/state
  kReport,     // GET /TOKEN/report/ID
  kReadAgain,  // POST /TOKEN/read
  kCompare,    // POST /TOKEN/compare/ID/ID: the earlier and the later report
};

struct Route {
  Place place = Place::kNowhere;
  bool trusted = false;  // the token is right
  std::uint64_t id = 0;
  std::uint64_t other = 0;
};

struct Door {
  std::string token;
  std::vector<std::string> names;  // of the server, besides IP addresses
};

// Returns the place that the request asks for, with the ids in its path. Never fails: a request
// that must not be answered has the place kNowhere, kRefused or kNoMethod.
Route route_request(const Request& request, const Door& door);

// Returns whether the Host field names an IP address, localhost or one of `names`, with any port: a
// forwarded port has another number.
bool is_own_host(std::string_view field, const std::vector<std::string>& names);

// Returns 128 random bits from the kernel, as 32 hexadecimal digits.
std::string make_token();

// Compares in a time that depends only on the length of `given`, so that the token cannot be
// guessed digit by digit.
bool is_token(std::string_view given, std::string_view token);

}  // namespace oddrank::serve
