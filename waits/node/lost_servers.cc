#include "waits/node/lost_servers.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <utility>

#include "base/ascii.h"
#include "base/few_notes.h"
#include "base/parse_number.h"
#include "base/span_words.h"
#include "base/split.h"

namespace oddrank::waits {
namespace {

constexpr std::size_t kMaxServerName = 64;
constexpr std::size_t kMaxServerNotes = 4;

// What the kernel writes before and after the name of a server.
struct ServerPattern {
  std::string_view start;   // of the record's text
  std::string_view before;  // anywhere behind that
  std::string_view after;   // right behind the name; "": the end of the line
  std::string_view what;
  bool answers = false;
};

constexpr std::array<ServerPattern, 8> kServerPatterns = {{
    {"nfs: ", "server ", " not responding", "NFS server ", false},
    {"nfs: ", "server ", " OK", "NFS server ", true},
    {"lockd: ", "server ", " not responding", "NFS lock server ", false},
    {"lockd: ", "server ", " OK", "NFS lock server ", true},
    {"ceph: ", "mds", " hung", "Ceph mds", false},
    {"ceph: ", "mds", " came back", "Ceph mds", true},
    {"Lustre: ", "Connection to ", " (at ", "Lustre target ", false},
    {"Lustre: ", "Connection restored to ", " (at ", "Lustre target ", true},
}};

// Returns the name in a text of this pattern; empty if the text does not fit the pattern.
std::string_view name_by(const ServerPattern& pattern, std::string_view text) {
  const auto before = text.starts_with(pattern.start)
                          ? text.find(pattern.before, pattern.start.size())
                          : std::string_view::npos;
  if (before == std::string_view::npos) {
    return {};
  }
  text.remove_prefix(before + pattern.before.size());
  const std::string_view name = text.substr(0, text.find(pattern.after));
  const bool whole = name.size() < text.size() && !name.empty() && name.size() <= kMaxServerName &&
                     name.find(' ') == std::string_view::npos;
  return whole ? name : std::string_view();
}

// Returns when the kernel wrote the record, and its first line; nullopt if a program wrote it.
std::optional<std::pair<std::uint64_t, std::string_view>> kernels_own(std::string_view record) {
  constexpr std::uint32_t kPriorities = 8;  // the facility is above them; 0 is the kernel's
  const auto end = record.find(';');
  if (end == std::string_view::npos) {
    return std::nullopt;
  }
  const auto head = split(record.substr(0, end), ',');
  const auto prefix = parse_number<std::uint32_t>(head[0]);
  const auto at = head.size() > 2 ? parse_number<std::uint64_t>(head[2]) : std::nullopt;
  if (!prefix || *prefix >= kPriorities || !at) {
    return std::nullopt;
  }
  const std::string_view text = record.substr(end + 1);
  return std::pair(*at, text.substr(0, text.find('\n')));
}

}  // namespace

std::optional<ServerWord> parse_server_word(std::string_view record) {
  // Nearly all records leave here: a log has thousands.
  const std::string_view after_head = record.substr(std::min(record.find(';'), record.size()));
  if (std::none_of(kServerPatterns.begin(), kServerPatterns.end(),
                   [after_head](const ServerPattern& pattern) {
                     return after_head.substr(std::min<std::size_t>(1, after_head.size()))
                         .starts_with(pattern.start);
                   })) {
    return std::nullopt;
  }
  const auto own = kernels_own(record);
  if (!own) {
    return std::nullopt;
  }
  for (const ServerPattern& pattern : kServerPatterns) {
    const std::string_view name = name_by(pattern, own->second);
    if (name.empty()) {
      continue;
    }
    std::string server(pattern.what);
    server += name;
    std::replace_if(server.begin(), server.end(), std::not_fn(is_printable_ascii), '?');
    return ServerWord{std::move(server), pattern.answers, own->first};
  }
  return std::nullopt;
}

std::vector<std::string> lost_servers(const std::vector<ServerWord>& words, std::uint64_t now_us) {
  std::map<std::string, std::uint64_t, std::less<>> lost;  // since when
  for (const ServerWord& word : words) {
    if (word.answers) {
      lost.erase(word.server);
    } else {
      lost.emplace(word.server, word.at_us);
    }
  }
  FewNotes notes(kMaxServerNotes, "lost servers");
  for (const auto& [server, since_us] : lost) {
    const UnsignedMicroseconds span(now_us - std::min(now_us, since_us));
    notes.add(server + " has not responded for " + span_words(span) + " (kernel log)");
  }
  return notes.take();
}

}  // namespace oddrank::waits
