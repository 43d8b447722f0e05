// RFC 3986: the authority of a URL ends at '/', '?' or '#', and "user:password@" comes first in it.
#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

#include "base/ascii.h"
#include "base/secrets/secret_spans.h"

namespace oddrank {
namespace {

bool is_letter_or_digit(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0;
}
bool is_host_character(char c) {
  return is_letter_or_digit(c) || c == '.' || c == '-' || c == '_' || c == '[';
}

bool ends_url(char c) {
  return std::isspace(static_cast<unsigned char>(c)) != 0 || c == '"' || c == '\'' || c == '<' ||
         c == '>';
}

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
}

// Returns the scheme that ends at `at`, "https" of "git+https".
std::string_view scheme_before(std::string_view text, std::size_t at) {
  std::size_t begin = at;
  while (begin > 0 && is_letter_or_digit(text[begin - 1])) {
    --begin;
  }
  return text.substr(begin, at - begin);
}

// With these schemes, a user without a password is a token: a name alone does not log in.
bool is_web(std::string_view scheme) {
  return scheme == "http" || scheme == "https";
}

// Reports what is secret of a URL; `at` is the place of "://". Returns where to go on.
std::size_t find_in_url(std::string_view text, std::size_t at, SecretSpans& spans) {
  constexpr std::size_t kMaxUrl = 4096;
  const std::size_t start = at + 3;
  const std::size_t limit = std::min(text.size(), start + kMaxUrl);
  std::size_t end = start;
  while (end < limit && !ends_url(text[end])) {
    ++end;
  }
  const std::string_view url = text.substr(start, end - start);
  const std::string_view authority = url.substr(0, url.find_first_of("/?#"));
  const std::size_t colon = authority.find(':');
  const std::size_t at_sign = authority.rfind('@');
  if (at_sign != std::string_view::npos) {
    if (colon + 1 == at_sign && is_web(scheme_before(text, at))) {  // "https://KEY:@host"
      spans.push_back({start, start + colon});
    } else if (colon < at_sign) {
      spans.push_back({start + colon + 1, start + at_sign});
    } else if (is_web(scheme_before(text, at))) {
      spans.push_back({start, start + at_sign});
    }
    return start + at_sign;
  }
  // A password with '/', '?' or '#' in it: what follows the colon is no port then.
  const std::size_t late = url.rfind('@');
  if (colon != std::string_view::npos && late != std::string_view::npos &&
      !is_number(authority.substr(colon + 1))) {
    spans.push_back({start + colon + 1, start + late});
    return start + late;
  }
  // A password with a blank or a quote in it, which ended the URL too early.
  const bool cut = colon != std::string_view::npos && end < text.size() &&
                   authority.size() == url.size() && !is_number(authority.substr(colon + 1)) &&
                   authority.find_first_of("[]") == std::string_view::npos;
  const std::size_t beyond = cut ? text.substr(0, limit).find('@', end) : std::string_view::npos;
  if (beyond != std::string_view::npos) {
    spans.push_back({start + colon + 1, beyond});
    return beyond;
  }
  return start;
}

// Reports the password of "user:password@host" without a scheme; `at` is the place of '@'.
void find_before_host(std::string_view text, std::size_t at, SecretSpans& spans) {
  constexpr std::array<std::string_view, 4> kNoHosts = {"sha256", "sha512", "md5", "sha1"};
  if (at + 1 >= text.size() || !is_host_character(text[at + 1])) {
    return;
  }
  std::size_t host_end = at + 1;
  while (host_end < text.size() && is_host_character(text[host_end])) {
    ++host_end;
  }
  const std::string_view host = text.substr(at + 1, host_end - at - 1);
  if (is_number(host)) {
    return;  // "B:USR1@120"
  }
  if (std::any_of(kNoHosts.begin(), kNoHosts.end(),
                  [host](std::string_view one) { return host.starts_with(one); })) {
    return;  // an image: "name:tag@sha256:..."
  }
  constexpr std::size_t kMaxUserinfo = 512;
  const std::size_t floor = at > kMaxUserinfo ? at - kMaxUserinfo : 0;
  std::size_t begin = at;
  while (begin > floor && !ends_url(text[begin - 1]) && text[begin - 1] != '=' &&
         text[begin - 1] != ',') {
    --begin;
  }
  const std::string_view userinfo = text.substr(begin, at - begin);
  const std::size_t colon = userinfo.find(':');
  if (colon == std::string_view::npos || colon + 1 == userinfo.size() || colon == 0 ||
      userinfo.substr(colon).starts_with("://") || userinfo.substr(0, colon) == "mailto") {
    return;
  }
  const std::string_view user = userinfo.substr(0, colon);
  const std::string_view password = userinfo.substr(colon + 1);
  const bool name = std::all_of(user.begin(), user.end(), [](char c) {
    return is_letter_or_digit(c) || c == '.' || c == '-' || c == '_' || c == '%' || c == '+';
  });
  // "0:3@n0" counts something; "a.py:12@main" is a place in a file.
  if (name && !is_number(password) && password.front() != '/') {
    spans.push_back({begin + colon + 1, at});
  }
}

}  // namespace

void find_url_secrets(std::string_view text, SecretSpans& spans) {
  std::size_t url_ends = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text.substr(at, 3) == "://") {
      url_ends = std::max(find_in_url(text, at, spans), at + 1);
    } else if (text[at] == '@' && at > url_ends) {
      find_before_host(text, at, spans);
    }
  }
}

}  // namespace oddrank
