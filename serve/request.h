// A request to the live page, and its answer, independent of the network.
#pragma once

#include <memory>
#include <string>
#include <string_view>

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

}  // namespace oddrank::serve
