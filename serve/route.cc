#include "serve/route.h"

#include <algorithm>
#include <optional>

#include "base/ascii.h"
#include "base/parse_number.h"
#include "base/split.h"
#include "base/write_file.h"
#include "serve/listen_address.h"

namespace oddrank::serve {

namespace {

std::optional<std::uint64_t> take_id(std::string_view& path) {
  return parse_number<std::uint64_t>(take_piece(path, '/'));
}

// `path`: after the token.
Route find_place(std::string_view path) {
  Route route;
  const auto is_whole = [&path](std::string_view name) { return path == name; };
  if (path.starts_with("report/")) {
    path.remove_prefix(std::string_view("report/").size());
    const auto id = take_id(path);
    return id && path.empty() ? Route{Place::kReport, true, *id, 0} : Route{Place::kNowhere, true};
  }
  if (path.starts_with("compare/")) {
    path.remove_prefix(std::string_view("compare/").size());
    const auto id = take_id(path);
    const auto other = take_id(path);
    return id && other && path.empty() ? Route{Place::kCompare, true, *id, *other}
                                       : Route{Place::kNowhere, true};
  }
  route.trusted = true;
  route.place = is_whole("")           ? Place::kPage
                : is_whole("live.js")  ? Place::kScript
                : is_whole("live.css") ? Place::kStyle
                : is_whole("state")    ? Place::kState
                : is_whole("read")     ? Place::kReadAgain
                                       : Place::kNowhere;
  return route;
}

bool is_action(Place place) {
  return place == Place::kReadAgain || place == Place::kCompare;
}

bool is_of_own_page(const Request& request) {
  return !request.marker.empty() &&
         (request.origin.empty() || request.origin == "http://" + request.host) &&
         (request.site.empty() || request.site == "same-origin");
}

}  // namespace

bool is_own_host(std::string_view field, const std::vector<std::string>& names) {
  const std::size_t colon = field.rfind(':');
  const std::size_t bracket = field.rfind(']');
  const bool has_port =
      colon != std::string_view::npos && (bracket == std::string_view::npos || bracket < colon);
  if (has_port && !parse_number<std::uint16_t>(field.substr(colon + 1))) {
    return false;
  }
  const std::string host = lower_case(has_port ? field.substr(0, colon) : field);
  return is_ip_address(host) || host == "localhost" ||
         std::any_of(names.begin(), names.end(),
                     [&host](const std::string& name) { return lower_case(name) == host; });
}

Route route_request(const Request& request, const Door& door) {
  std::string_view path = request.target;
  if (!path.starts_with('/')) {
    return {};
  }
  path.remove_prefix(1);
  if (!is_token(path.substr(0, path.find('/')), door.token)) {
    return {};
  }
  path.remove_prefix(door.token.size());
  if (!path.starts_with('/')) {
    return {Place::kNowhere, true};
  }
  path.remove_prefix(1);
  Route route = find_place(path);
  if (!is_own_host(request.host, door.names)) {
    route.place = Place::kRefused;
  } else if (route.place != Place::kNowhere) {
    if (is_action(route.place) ? !request.post : !request.get) {
      route.place = Place::kNoMethod;
    } else if (request.post && !is_of_own_page(request)) {
      route.place = Place::kRefused;
    }
  }
  return route;
}

std::string make_token() {
  return random_word() + random_word();
}

bool is_token(std::string_view given, std::string_view token) {
  if (token.empty()) {
    return false;
  }
  unsigned differs = given.size() == token.size() ? 0 : 1;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const char right = token[i % token.size()];
    differs |= static_cast<unsigned>(static_cast<unsigned char>(given[i] ^ right));
  }
  return differs == 0;
}

}  // namespace oddrank::serve
