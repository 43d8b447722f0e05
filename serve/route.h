// Decides what a request is for, and whether it may be answered.
//
// The token in the path is asked first: without it, everything is kNowhere, and the client learns
// nothing. With it, a browser must not be made to act for another site:
// - The Host field must name this server by an IP address or one of its names. A name of somebody
//   else's domain that was made to point here (DNS rebinding) is refused.
// - What makes oddrank work (POST) needs the field X-Oddrank, which browsers let no other site send
//   unasked, and no sign (Origin, Sec-Fetch-Site) that it came from another one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "serve/request.h"

namespace oddrank::serve {

enum class Place {
  kNowhere,    // also: the token is wrong
  kRefused,    // by Host or Origin, or without X-Oddrank
  kNoMethod,   // neither GET nor POST, or not the one for this place
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
  std::vector<std::string> names;  // by which the server is known, besides IP addresses
};

Route route_request(const Request& request, const Door& door);

// Returns whether the Host field names an IP address, localhost or one of `names`, with any port: a
// forwarded port has another number.
bool is_own_host(std::string_view field, const std::vector<std::string>& names);

}  // namespace oddrank::serve
