#include "waits/ends/socket_table.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include <arpa/inet.h>

#include "base/parse_number.h"
#include "base/split.h"
#include "snapshot/connection.h"

namespace oddrank::waits {
namespace {

// Each word of an address is printed as a number in this machine's byte order: "0100007F" is
// 127.0.0.1.
std::optional<std::string> parse_address(std::string_view text) {
  const auto colon = text.find(':');
  if (colon == std::string_view::npos) {
    return std::nullopt;
  }
  const std::string_view host = text.substr(0, colon);
  const auto port = parse_number<std::uint16_t>(text.substr(colon + 1), 16);
  if (!port || (host.size() != 8 && host.size() != 32)) {
    return std::nullopt;
  }
  std::array<std::uint32_t, 4> words{};
  for (std::size_t i = 0; i < host.size() / 8; ++i) {
    const auto word = parse_number<std::uint32_t>(host.substr(i * 8, 8), 16);
    if (!word) {
      return std::nullopt;
    }
    words[i] = *word;
  }
  return endpoint_text(words, host.size() == 32, *port);
}

// Returns milliseconds from the ticks in which the tables count for users.
std::uint32_t ms_of_ticks(std::uint64_t ticks) {
  const auto per_second = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  constexpr std::uint64_t kMost = 1'000'000;
  return static_cast<std::uint32_t>(std::min(ticks, kMost) * 1000 / per_second);
}

// "01:00000064", how often the timer ran out; and how long it still runs, if the row describes a
// connection.
void parse_timer(const std::vector<std::string_view>& words, SocketRow& row) {
  const auto timer = split(words[5], ':');
  if (timer.size() != 2) {
    return;
  }
  row.timer = parse_number<std::uint8_t>(timer[0], 16).value_or(0);
  row.expires_ms = ms_of_ticks(parse_number<std::uint64_t>(timer[1], 16).value_or(0));
  row.tries = row.timer == kRetransmits ? parse_number<std::uint32_t>(words[6], 16).value_or(0)
                                        : parse_number<std::uint32_t>(words[8]).value_or(0);
  if (words.size() > 12) {
    row.rto_ms = ms_of_ticks(parse_number<std::uint64_t>(words[12]).value_or(0));
  }
}

// "  0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 12345 ..."
std::optional<SocketRow> parse_socket_row(std::string_view line) {
  const auto words = split_blanks(line);
  if (words.size() < 10) {
    return std::nullopt;
  }
  auto local = parse_address(words[1]);
  auto peer = parse_address(words[2]);
  const auto state = parse_number<std::uint8_t>(words[3], 16);
  const auto queues = split(words[4], ':');
  const auto inode = parse_number<std::uint64_t>(words[9]);
  if (!local || !peer || !state || queues.size() != 2 || !inode) {
    return std::nullopt;
  }
  SocketRow row;
  row.local = *std::move(local);
  row.peer = *std::move(peer);
  row.state = *state;
  row.unsent = parse_number<std::uint64_t>(queues[0], 16).value_or(0);
  row.unread = parse_number<std::uint64_t>(queues[1], 16).value_or(0);
  row.inode = *inode;
  parse_timer(words, row);
  return row;
}

std::string ends_key(const std::string& local, const std::string& peer) {
  return local + ' ' + peer;
}

}  // namespace

std::string endpoint_text(const std::array<std::uint32_t, 4>& words,
                          bool is_v6,
                          std::uint16_t port) {
  const bool mapped = is_v6 && words[0] == 0 && words[1] == 0 && words[2] == htonl(0xffff);
  const bool shown_as_v6 = is_v6 && !mapped;
  std::array<char, INET6_ADDRSTRLEN> name{};
  ::inet_ntop(shown_as_v6 ? AF_INET6 : AF_INET, mapped ? &words[3] : words.data(), name.data(),
              name.size());
  const std::string host(name.data());
  return (shown_as_v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

std::optional<Endpoint> parse_endpoint(const std::string& text) {
  const auto colon = text.rfind(':');
  const auto port = colon == std::string::npos
                        ? std::nullopt
                        : parse_number<std::uint16_t>(text.substr(colon + 1));
  if (!port) {
    return std::nullopt;
  }
  Endpoint end;
  end.port = htons(*port);
  const bool is_v6 = text.front() == '[' && colon > 2;
  end.family = is_v6 ? AF_INET6 : AF_INET;
  const std::string host = is_v6 ? text.substr(1, colon - 2) : text.substr(0, colon);
  return ::inet_pton(end.family, host.c_str(), end.address.data()) == 1 ? std::optional(end)
                                                                        : std::nullopt;
}

void SocketTable::add(SocketRow row) {
  if (rows_.size() >= kMaxRows) {
    ++dropped_;
    return;
  }
  const std::size_t at = rows_.size();
  if (row.inode != 0) {
    by_inode_.emplace(row.inode, at);
  }
  by_ends_.emplace(ends_key(row.local, row.peer), at);
  rows_.push_back(std::move(row));
}

void SocketTable::add(std::string_view text) {
  for (const std::string_view line : split(text, '\n')) {
    if (auto row = parse_socket_row(line)) {
      add(*std::move(row));
    }
  }
}

const SocketRow* SocketTable::by_inode(std::uint64_t inode) const {
  const auto at = by_inode_.find(inode);
  return at == by_inode_.end() ? nullptr : &rows_[at->second];
}

const SocketRow* SocketTable::other_end(const SocketRow& row) const {
  const auto at = by_ends_.find(ends_key(row.peer, row.local));
  return at == by_ends_.end() ? nullptr : &rows_[at->second];
}

const SocketRow* SocketTable::listener_of(const SocketRow& row) const {
  if (row.inode != 0 || row.state != static_cast<std::uint8_t>(SocketState::kEstablished)) {
    return nullptr;
  }
  const std::string port(snapshot::port_part(row.local));
  for (const std::string& local : {row.local, "0.0.0.0:" + port, "[::]:" + port}) {
    for (const char* nobody : {"0.0.0.0:0", "[::]:0"}) {
      const auto at = by_ends_.find(ends_key(local, nobody));
      if (at != by_ends_.end() &&
          rows_[at->second].state == static_cast<std::uint8_t>(SocketState::kListen)) {
        return &rows_[at->second];
      }
    }
  }
  return nullptr;
}

}  // namespace oddrank::waits
