#include "snapshot/format/told_wait.h"

#include <string>
#include <string_view>

#include "base/parse_number.h"

namespace oddrank::snapshot {
namespace {

constexpr std::string_view kFrozen = "frozen by its cgroup";
constexpr std::string_view kLimit = ", with a time limit";
constexpr std::string_view kNext = "; ";
constexpr std::string_view kSilent = ", nothing received for ";
constexpr std::string_view kTls = ", over TLS";

// Splits "HEAD, with a time limit; MORE" in three. Changes nothing if the limit is followed by
// anything else.
void split_at_limit(const std::string& words, Tables& tables, Wait& wait) {
  const auto at = words.find(kLimit);
  if (at == std::string::npos) {
    return;
  }
  const std::string_view rest = std::string_view(words).substr(at + kLimit.size());
  if (!rest.empty() && (!rest.starts_with(kNext) || rest.size() == kNext.size())) {
    return;
  }
  wait.limited = true;
  wait.detail = tables.string(words.substr(0, at));
  wait.rare.edit().notes = tables.string(rest.empty() ? rest : rest.substr(kNext.size()));
}

// Adds a file without a state or a note, since the words have neither.
void add_connection(const std::string& words, Wait& wait) {
  AwaitedFile file;
  file.fd = wait.fd;
  file.link = wait.path;
  const auto silent = words.find(kSilent);
  if (silent != std::string::npos) {
    const std::string_view rest = std::string_view(words).substr(silent + kSilent.size());
    const auto seconds = parse_number<std::uint32_t>(rest.substr(0, rest.find(' ')));
    file.received_ms = seconds ? std::int64_t{*seconds} * 1000 : -1;
  }
  file.tls = words.find(kTls) != std::string::npos;
  if (file.tls || file.received_ms >= 0) {
    wait.rare.edit().awaited.push_back(file);
    wait.rare.edit().awaited_count = 1;
  }
}

}  // namespace

void facts_of_told_wait(Tables& tables, Wait& wait) {
  const std::string words(tables.text(wait.detail));
  if (words.starts_with(kFrozen)) {
    wait.how = WaitHow::kFrozen;
  } else if (wait.on == WaitOn::kLock) {
    split_at_limit(words, tables, wait);
  } else if (wait.on == WaitOn::kSocket && wait.rare->peer != StringId{}) {
    add_connection(words, wait);
  }
}

}  // namespace oddrank::snapshot
