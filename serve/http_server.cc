#include "serve/http_server.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <exception>
#include <list>
#include <optional>
#include <string>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

namespace oddrank::serve {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;
using std::chrono::steady_clock;

constexpr std::chrono::seconds kRequestTime{15};
constexpr std::chrono::seconds kPieceTime{20};
constexpr std::chrono::minutes kAnswerTime{10};
constexpr std::chrono::milliseconds kTick{100};
constexpr std::uint32_t kMaxHeader = 8192;  // bytes
constexpr std::uint64_t kMaxBody = 1024;    // bytes

using RequestParser = http::request_parser<http::string_body>;
using Response = http::response<http::span_body<const char>>;

std::string field_of(const RequestParser& parser, http::field name) {
  return std::string(parser.get()[name]);
}

Request request_of(const RequestParser& parser) {
  Request request;
  request.get = parser.get().method() == http::verb::get;
  request.post = parser.get().method() == http::verb::post;
  request.target = std::string(parser.get().target());
  request.host = field_of(parser, http::field::host);
  request.origin = field_of(parser, http::field::origin);
  request.site = std::string(parser.get()["Sec-Fetch-Site"]);
  request.marker = std::string(parser.get()["X-Oddrank"]);
  return request;
}

// One client. Lives as long as an operation on its connection is under way.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(tcp::socket socket, const AnswerRequest& answer)
      : stream_(std::move(socket)), buffer_(kMaxHeader + kMaxBody), answer_(answer) {}

  void read_request();
  void close();
  // Whether the client has shown the token.
  bool trusted() const { return trusted_; }

 private:
  void answer_request();
  void write_piece();

  beast::tcp_stream stream_;
  beast::flat_buffer buffer_;
  const AnswerRequest& answer_;
  std::optional<RequestParser> parser_;
  std::shared_ptr<const std::string> body_;  // what response_ shows
  std::optional<Response> response_;
  std::optional<http::response_serializer<http::span_body<const char>>> serializer_;
  steady_clock::time_point end_;  // of the answer
  bool trusted_ = false;
};

void Connection::read_request() {
  parser_.emplace();
  parser_->header_limit(kMaxHeader);
  parser_->body_limit(kMaxBody);
  stream_.expires_after(kRequestTime);
  http::async_read(stream_, buffer_, *parser_, [self = shared_from_this()](error_code error, auto) {
    // A client that sends no request of HTTP, or too long a one, gets no answer.
    if (error) {
      self->close();
    } else {
      self->answer_request();
    }
  });
}

void Connection::answer_request() {
  const Answer answer = answer_(request_of(*parser_));
  trusted_ |= answer.trusted;
  body_ = answer.body ? answer.body : std::make_shared<const std::string>();
  response_.emplace(static_cast<http::status>(answer.status), 11U);
  response_->set(http::field::content_type,
                 beast::string_view(answer.type.data(), answer.type.size()));
  response_->set("Content-Security-Policy",
                 beast::string_view(answer.policy.data(), answer.policy.size()));
  response_->set("X-Content-Type-Options", "nosniff");
  response_->set("X-Frame-Options", "SAMEORIGIN");
  response_->set("Referrer-Policy", "no-referrer");
  response_->set("Cross-Origin-Resource-Policy", "same-origin");
  response_->set(http::field::cache_control, "no-store");
  response_->keep_alive(answer.trusted && parser_->get().keep_alive());
  response_->body() = {body_->data(), body_->size()};
  response_->prepare_payload();
  serializer_.emplace(*response_);
  end_ = steady_clock::now() + kAnswerTime;
  write_piece();
}

void Connection::write_piece() {
  stream_.expires_at(std::min(end_, steady_clock::now() + kPieceTime));
  http::async_write_some(
      stream_, *serializer_, [self = shared_from_this()](error_code error, auto) {
        if (error || (self->serializer_->is_done() && !self->response_->keep_alive())) {
          self->close();
        } else if (!self->serializer_->is_done()) {
          self->write_piece();
        } else {
          self->serializer_.reset();
          self->body_.reset();
          self->read_request();
        }
      });
}

void Connection::close() {
  error_code ignored;
  stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
  stream_.close();
}

Error listen_error(const ListenAddress& address, const error_code& error) {
  const bool taken = error == asio::error::address_in_use;
  const bool foreign = error.value() == EADDRNOTAVAIL || error == asio::error::access_denied;
  return {foreign || taken ? Errc::kUsage : Errc::kIo,
          "cannot serve at " + url_of(address, address.host) + ": " + errno_text(error.value()),
          taken || foreign ? "--serve alone takes a free port of 127.0.0.1" : ""};
}

}  // namespace

struct HttpServer::Listener {
  asio::io_context context{1};
  tcp::acceptor acceptor{context};
  asio::steady_timer timer{context};
  asio::steady_timer rest{context};
  std::list<std::weak_ptr<Connection>> connections;  // the oldest first

  void accept(const AnswerRequest& answer);
  void add(tcp::socket socket, const AnswerRequest& answer);
  bool make_room();
  void wait(const std::function<bool()>& tick);
};

void HttpServer::Listener::accept(const AnswerRequest& answer) {
  acceptor.async_accept([this, &answer](error_code error, tcp::socket socket) {
    if (!error) {
      accept(answer);  // first: the rest may throw
      add(std::move(socket), answer);
      return;
    }
    // If there is no descriptor left for a connection, the next try would fail at once, and so on.
    rest.expires_after(kTick);
    rest.async_wait([this, &answer](error_code) { accept(answer); });
  });
}

void HttpServer::Listener::add(tcp::socket socket, const AnswerRequest& answer) {
  connections.remove_if([](const auto& connection) { return connection.expired(); });
  if (connections.size() >= kMaxConnections && !make_room()) {
    return;
  }
  error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  const auto connection = std::make_shared<Connection>(std::move(socket), answer);
  connections.push_back(connection);
  connection->read_request();
}

bool HttpServer::Listener::make_room() {
  for (auto at = connections.begin(); at != connections.end(); ++at) {
    const auto connection = at->lock();
    if (connection && !connection->trusted()) {
      connection->close();
      connections.erase(at);
      return true;
    }
  }
  return false;
}

void HttpServer::Listener::wait(const std::function<bool()>& tick) {
  timer.expires_after(kTick);
  timer.async_wait([this, &tick](error_code) {
    wait(tick);  // first: the rest may throw
    if (!tick()) {
      context.stop();
    }
  });
}

HttpServer::HttpServer(std::unique_ptr<Listener> listener) : listener_(std::move(listener)) {}
HttpServer::~HttpServer() = default;
HttpServer::HttpServer(HttpServer&&) noexcept = default;

Result<HttpServer> HttpServer::listen(const ListenAddress& address) {
  try {
    auto listener = std::make_unique<Listener>();
    const tcp::endpoint endpoint(asio::ip::make_address(address.host), address.port);
    error_code error;
    tcp::acceptor& acceptor = listener->acceptor;
    acceptor.open(endpoint.protocol(), error);
    if (!error) {
      acceptor.set_option(tcp::acceptor::reuse_address(true), error);
    }
    if (!error) {
      acceptor.bind(endpoint, error);
    }
    if (!error) {
      acceptor.listen(asio::socket_base::max_listen_connections, error);
    }
    if (error) {
      return fail(listen_error(address, error));
    }
    return HttpServer(std::move(listener));
  } catch (const std::exception& fault) {
    return fail(Errc::kIo, std::string("cannot serve: ") + fault.what());
  }
}

std::uint16_t HttpServer::port() const {
  error_code ignored;
  return listener_->acceptor.local_endpoint(ignored).port();
}

void HttpServer::run(const AnswerRequest& answer, const std::function<bool()>& tick) {
  listener_->accept(answer);
  listener_->wait(tick);
  while (!listener_->context.stopped()) {
    try {
      listener_->context.run();
    } catch (const std::exception&) {
      // There was not enough memory for one client; its connection is closed. The other clients are
      // still served.
    }
  }
}

}  // namespace oddrank::serve
