#include "cli/host_list.h"

#include <set>
#include <string_view>
#include <utility>

#include "base/read_file.h"
#include "base/split.h"
#include "slurm/hostlist.h"

namespace oddrank::cli {
namespace {

constexpr std::size_t kMaxFileBytes = std::size_t{4} << 20;

// Cuts at commas and blanks outside of brackets.
std::vector<std::string_view> items_of(std::string_view text) {
  std::vector<std::string_view> items;
  bool bracket = false;
  std::size_t start = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const char byte = i < text.size() ? text[i] : ',';
    bracket = byte == '[' || (bracket && byte != ']' && i < text.size());
    if (!bracket && (byte == ',' || byte == ' ' || byte == '\t' || byte == '\r')) {
      if (i > start) {
        items.push_back(text.substr(start, i - start));
      }
      start = i + 1;
    }
  }
  return items;
}

struct Hosts {
  std::vector<std::string> names;
  std::set<std::string> seen;

  void add(std::string_view text) {
    for (const std::string_view item : items_of(text)) {
      for (std::string& host : slurm::expand_hosts(item)) {
        if (seen.insert(host).second) {
          names.push_back(std::move(host));
        }
      }
    }
  }
};

}  // namespace

Result<std::vector<std::string>> read_host_list(const std::vector<std::string>& words) {
  Hosts hosts;
  for (const std::string& word : words) {
    if (word.empty() || word.front() != '@') {
      hosts.add(word);
      continue;
    }
    ODDRANK_TRY(const std::string text, read_file(word.substr(1), kMaxFileBytes));
    for (const std::string_view line : split(text, '\n')) {
      hosts.add(line.substr(0, line.find('#')));
    }
  }
  if (hosts.names.empty()) {
    return fail(Errc::kUsage, "no hosts given", "give n0,n1 or n[0-3] or @FILE");
  }
  return std::move(hosts.names);
}

}  // namespace oddrank::cli
