#include "snapshot/rewrite.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <utility>

#include <arpa/inet.h>

#include "base/ascii.h"
#include "base/parse_number.h"
#include "base/secrets/mask_secrets.h"
#include "snapshot/carrier.h"
#include "snapshot/variable.h"

namespace oddrank::snapshot {

namespace {

Capture rewritten(CaptureRows rows, const Tables& tables, TextRewrites rewrites) {
  Capture result;
  Carrier carrier(tables, result.tables, std::move(rewrites));
  static_cast<CaptureRows&>(result) = carrier.row(std::move(rows));
  return result;
}

// Drops the values that a program works on.
void drop_locals(ProcessCapture& process) {
  for (ThreadCapture& thread : process.threads) {
    thread.locals.clear();
    for (PythonLoop& loop : thread.loops) {
      for (LoopCall& call : loop.calls) {
        call.object = StringId{};
      }
    }
  }
}

}  // namespace

Capture without_secrets(Capture capture) {
  const Tables tables = std::move(capture.tables);
  return rewritten(static_cast<CaptureRows&&>(capture), tables, {mask_text, {}});
}

Capture redacted(const Capture& capture, const Capture* beside) {
  Identities identities;
  identities.add_all_of(capture);
  if (beside != nullptr) {
    identities.add_all_of(*beside);
  }
  const auto anonymous = [&identities](std::string_view text) { return identities.without(text); };
  auto rows = static_cast<const CaptureRows&>(capture);
  rows.job.name.clear();
  rows.job.user.clear();
  for (ProcessCapture& process : rows.processes) {
    drop_locals(process);
  }
  return rewritten(std::move(rows), capture.tables, {anonymous, anonymous});
}

namespace {

// The folders below which each user has one.
constexpr std::array<std::string_view, 5> kHomeRoots = {"/home/", "/Users/", "/users/", "/homes/",
                                                        "/u/"};
// Accounts of every machine, and words that stand for no machine.
constexpr std::array<std::string_view, 8> kCommonNames = {
    "root", "nobody", "localhost", "localhost.localdomain", "local", "shared", "python", "slurm"};

constexpr std::size_t kMinUserName = 3;  // of a user whose name is part of an interface's

bool is_word_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
}
bool is_address_character(char c) {
  return std::isxdigit(static_cast<unsigned char>(c)) != 0 || c == '.' || c == ':';
}

std::size_t end_of(std::string_view text, std::size_t at, bool (*is_part)(char)) {
  while (at < text.size() && is_part(text[at])) {
    ++at;
  }
  return at;
}

// Returns the address at the start of a run of its characters: "10.0.0.1" of "10.0.0.1:29500";
// "" if none is there, or one that says nothing about a place.
std::string_view address_in(std::string_view run) {
  std::array<unsigned char, 16> bytes{};
  const std::string_view before_port = run.substr(0, run.find(':'));
  if (::inet_pton(AF_INET, std::string(before_port).c_str(), bytes.data()) == 1) {
    const bool common = bytes[0] == 127 || bytes[0] == 0 || bytes[0] == 255;
    return common ? std::string_view() : before_port;
  }
  if (std::count(run.begin(), run.end(), ':') >= 2 &&
      ::inet_pton(AF_INET6, std::string(run).c_str(), bytes.data()) == 1) {
    const bool common = std::all_of(bytes.begin(), bytes.end() - 1, [](auto b) { return b == 0; });
    return common ? std::string_view() : run;
  }
  return {};
}

// Returns the user's folder in "/home/ann/x" at the place of '/'; "" if there is none.
std::string_view home_name(std::string_view text, std::size_t at) {
  for (const std::string_view root : kHomeRoots) {
    if (text.substr(at).starts_with(root)) {
      const std::size_t start = at + root.size();
      const std::size_t end = std::min(text.find_first_of("/ \t\"':,;", start), text.size());
      return text.substr(start, end - start);
    }
  }
  return {};
}

// Calls found(begin, text) for each address in the text.
template <typename Found>
void each_address(std::string_view text, const Found& found) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (!is_address_character(text[at]) || (at > 0 && is_word_character(text[at - 1]))) {
      continue;
    }
    const std::size_t end = end_of(text, at, is_address_character);
    const std::string_view address = address_in(text.substr(at, end - at));
    if (!address.empty()) {
      found(at, address);
    }
    at = end - 1;
  }
}

// Returns the domain behind the '@' of an e-mail address: "lab.example.org"; "" if the text there
// is no domain, as in "memcpy@GLIBC_2.14" and "model@main".
std::string_view domain_behind(std::string_view text, std::size_t at) {
  const std::size_t end =
      end_of(text, at + 1, [](char c) { return is_word_character(c) || c == '.'; });
  std::string_view domain = text.substr(at + 1, end - at - 1);
  while (domain.ends_with('.')) {
    domain.remove_suffix(1);
  }
  const std::size_t dot = domain.rfind('.');
  const std::string_view last =
      dot == std::string_view::npos ? std::string_view() : domain.substr(dot + 1);
  const bool top = last.size() >= 2 && std::all_of(last.begin(), last.end(), [](char c) {
                     return std::isalpha(static_cast<unsigned char>(c)) != 0;
                   });
  return top && dot > 0 ? domain : std::string_view();
}

// Returns the id in "user 1001", "uid 1001", "uid_1001" and "user-1001" at this place; "" if no
// such text begins here, or if the id belongs to a system account.
std::string_view user_id_at(std::string_view text, std::size_t at) {
  constexpr std::array<std::string_view, 4> kBefore = {"user ", "uid ", "uid_", "user-"};
  constexpr std::uint32_t kFirstOfPeople = 1000;
  for (const std::string_view before : kBefore) {
    if (text.substr(at).starts_with(before)) {
      const std::size_t begin = at + before.size();
      const std::string_view id =
          text.substr(begin, end_of(text, begin, is_word_character) - begin);
      return parse_number<std::uint32_t>(id).value_or(0) >= kFirstOfPeople ? id
                                                                           : std::string_view();
    }
  }
  return {};
}

bool is_common(std::string_view name) {
  return name.empty() ||
         std::find(kCommonNames.begin(), kCommonNames.end(), name) != kCommonNames.end();
}

}  // namespace

void Identities::add_address(std::string_view address) {
  if (addresses_.find(address) != addresses_.end()) {
    return;
  }
  const std::size_t number = addresses_.size() + 1;
  const auto byte = [number](unsigned shift) { return std::to_string(number >> shift & 0xffU); };
  std::string replacement;
  if (contains(address, ":")) {
    replacement = "2001:db8::" + std::to_string(number % 10000);
  } else {
    replacement = (number >> 16U & 1U) == 0 ? "198.18." : "198.19.";
    replacement += byte(8) + "." + byte(0);
  }
  addresses_.emplace(address, std::move(replacement));
}

void Identities::add_host(std::string_view name) {
  if (is_common(name) || names_.find(name) != names_.end() || !address_in(name).empty()) {
    return;
  }
  const std::string_view short_name = name.substr(0, name.find('.'));
  const auto known = names_.find(short_name);
  const std::string replacement =
      known != names_.end() ? known->second : "host" + std::to_string(++hosts_);
  names_.emplace(name, replacement);
  if (!is_common(short_name)) {
    names_.emplace(short_name, replacement);
  }
}

void Identities::add_user(std::string_view name) {
  if (!is_common(name) && names_.find(name) == names_.end()) {
    names_.emplace(name, "user" + std::to_string(++users_));
  }
}

// `at`: the place of '@'.
void Identities::add_mail(std::string_view text, std::size_t at) {
  // Accounts that are no person's name.
  constexpr std::array<std::string_view, 6> kAccounts = {"git",     "info", "admin",
                                                         "noreply", "help", "support"};
  constexpr std::size_t kMaxMailUser = 64;
  std::size_t begin = at;
  while (begin > 0 && at - begin < kMaxMailUser &&
         (is_word_character(text[begin - 1]) || text[begin - 1] == '.')) {
    --begin;
  }
  const std::string_view user = text.substr(begin, at - begin);
  const std::string_view domain = domain_behind(text, at);
  if (user.empty() || domain.empty()) {
    return;
  }
  if (names_.find(domain) == names_.end()) {
    names_.emplace(domain, "host" + std::to_string(++hosts_));
  }
  if (std::find(kAccounts.begin(), kAccounts.end(), user) == kAccounts.end()) {
    add_user(user);
  }
}

// Numbers network interfaces whose names contain a user's name, in lists such as "veth-ann,ib0".
void Identities::add_interfaces(std::string_view names) {
  const auto is_part = [](char c) { return is_word_character(c); };
  for (std::size_t at = 0; at < names.size(); ++at) {
    const std::size_t end = end_of(names, at, is_part);
    const std::string_view name = names.substr(at, end - at);
    const bool of_user = std::any_of(names_.begin(), names_.end(), [&name](const auto& known) {
      return known.first.size() >= kMinUserName && known.second.starts_with("user") &&
             contains(name, known.first) && name != known.first;
    });
    if (of_user && names_.find(name) == names_.end()) {
      names_.emplace(name, "interface" + std::to_string(++interfaces_));
    }
    at = std::max(at, end);
  }
}

void Identities::add_from(std::string_view text) {
  for (std::size_t at = text.find('@'); at != std::string_view::npos; at = text.find('@', at + 1)) {
    add_mail(text, at);
  }
  each_address(text,
               [this](std::size_t /*at*/, std::string_view address) { add_address(address); });
  for (std::size_t at = text.find('/'); at != std::string_view::npos; at = text.find('/', at + 1)) {
    add_user(home_name(text, at));
  }
  for (std::size_t at = text.find('u'); at != std::string_view::npos; at = text.find('u', at + 1)) {
    if (const std::string_view id = user_id_at(text, at); !id.empty()) {
      user_ids_.emplace(id, std::to_string(user_ids_.size() + 1));
    }
  }
}

std::string Identities::without(std::string_view text) const {
  std::string result;
  std::size_t done = 0;
  const auto replace = [&](std::size_t at, std::size_t size, const std::string& replacement) {
    result += text.substr(done, at - done);
    result += replacement;
    done = at + size;
  };
  for (std::size_t at = 0; at < text.size();) {
    if (is_address_character(text[at]) && (at == 0 || !is_word_character(text[at - 1]))) {
      const std::size_t end = end_of(text, at, is_address_character);
      const std::string_view address = address_in(text.substr(at, end - at));
      const auto known = addresses_.find(address);
      if (known != addresses_.end()) {
        replace(at, address.size(), known->second);
        at += address.size();
        continue;
      }
    }
    if (!is_word_character(text[at])) {
      ++at;
      continue;
    }
    if (const auto id = user_ids_.find(user_id_at(text, at)); id != user_ids_.end()) {
      const std::size_t begin = text.find(id->first, at);
      replace(begin, id->first.size(), id->second);
      at = done;
      continue;
    }
    const std::size_t end = end_of(text, at, is_word_character);
    // A host's full name first: it has dots.
    const std::size_t dotted =
        end_of(text, at, [](char c) { return is_word_character(c) || c == '.'; });
    auto known = names_.find(text.substr(at, dotted - at));
    if (known == names_.end()) {
      known = names_.find(text.substr(at, end - at));
    }
    if (known != names_.end()) {
      replace(at, known->first.size(), known->second);
    }
    at = std::max(end, done);
  }
  return result.append(text.substr(std::min(done, text.size())));
}

void Identities::add_all_of(const Capture& capture) {
  for (const std::string& host : capture.job.hosts) {
    add_host(host);
  }
  for (const NodeCapture& node : capture.nodes) {
    add_host(node.host);
  }
  add_user(capture.job.user);
  for (const ProcessCapture& process : capture.processes) {
    for (const std::string_view name : {"MASTER_ADDR", "SLURMD_NODENAME", "NCCL_RAS_ADDR"}) {
      const auto value = variable_of(capture.tables, process, name);
      add_host(value ? value->substr(0, value->find(':')) : std::string_view());
    }
    const auto home = variable_of(capture.tables, process, "HOME");
    add_user(home ? home->substr(home->rfind('/') + 1) : std::string_view());
  }
  for (const RasCommunicator& communicator : capture.collectives.ras) {
    for (const RasRank& rank : communicator.ranks) {
      add_host(capture.tables.text(rank.host));
    }
  }
  for (const std::string& text : capture.tables.strings()) {
    add_from(text);
  }
  for (const NodeCapture& node : capture.nodes) {
    add_from(node.why);
    for (const std::string& note : node.notes) {
      add_from(note);
    }
  }
  add_from(capture.job.output_path);
  for (const std::string& note : capture.job.notes) {
    add_from(note);
  }
  for (const ProcessCapture& process : capture.processes) {
    for (const std::string_view name :
         {"NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME"}) {
      add_interfaces(variable_of(capture.tables, process, name).value_or(""));
    }
  }
}

}  // namespace oddrank::snapshot
