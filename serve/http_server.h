// A small HTTP server, for one page and few clients: Boost.Beast, in this thread.
//
// At most 128 connections, 8 KiB of header, 1 KiB of body. A request must arrive within 15 s; a
// client must take a part of an answer every 20 s, and all of it within 10 minutes. If all
// connections are in use, closes the oldest one whose client has not shown the token, or else the
// new one: a client that never sends or never reads does not keep others out. All requests are
// answered at once, so `answer` must not block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "base/result.h"
#include "serve/listen_address.h"
#include "serve/route.h"

namespace oddrank::serve {

using AnswerRequest = std::function<Answer(const Request&)>;

class HttpServer {
 public:
  static constexpr std::size_t kMaxConnections = 128;

  // kPermission, kUsage: the address or port is not ours, or in use.
  static Result<HttpServer> listen(const ListenAddress& address);
  ~HttpServer();
  HttpServer(HttpServer&&) noexcept;
  HttpServer& operator=(HttpServer&&) = delete;
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  std::uint16_t port() const;
  // Answers clients until `tick`, which is called ten times a second, returns false. Both run in
  // this thread, and may fork.
  void run(const AnswerRequest& answer, const std::function<bool()>& tick);

 private:
  struct Listener;
  explicit HttpServer(std::unique_ptr<Listener> listener);

  std::unique_ptr<Listener> listener_;
};

}  // namespace oddrank::serve
