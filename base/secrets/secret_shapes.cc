// Heuristic: random text is recognized by how often it changes between lower case, upper case and
// digits. Digests in hex (commits, build ids) and UUIDs are not secrets and look the same as some;
// they are left alone.
#include <algorithm>
#include <array>
#include <bitset>
#include <optional>

#include "base/ascii.h"
#include "base/secrets/secret_spans.h"

namespace oddrank {
namespace {

// Services' own beginnings, and how many characters follow at least.
struct TokenShape {
  std::string_view beginning;
  std::size_t length = 16;
};
constexpr std::size_t kTokenShapes = 62;
constexpr std::array<TokenShape, kTokenShapes> kShapes = {{
    {"hf_"},       {"api_org_"},  {"sk-"},       {"sk_live_"},   {"sk_test_"},
    {"rk_live_"},  {"rk_test_"},  {"pk_live_"},  {"whsec_"},     {"ghp_"},
    {"gho_"},      {"ghs_"},      {"ghu_"},      {"ghr_"},       {"github_pat_"},
    {"glpat-"},    {"gldt-"},     {"glrt-"},     {"glsa_"},      {"glc_"},
    {"AKIA", 12},  {"ASIA", 12},  {"AROA", 12},  {"AIDA", 12},   {"ABIA", 12},
    {"LTAI", 12},  {"xoxb-", 10}, {"xoxp-", 10}, {"xoxa-", 10},  {"xoxr-", 10},
    {"xoxs-", 10}, {"xapp-", 10}, {"AIza", 30},  {"ya29.", 16},  {"GOCSPX-", 16},
    {"npm_"},      {"pypi-"},     {"dop_v1_"},   {"nvapi-"},     {"wandb_v1_"},
    {"r8_"},       {"SG."},       {"shpat_"},    {"shpss_"},     {"sq0atp-"},
    {"lin_api_"},  {"dapi", 32},  {"hvs."},      {"hvb."},       {"hvr."},
    {"dckr_pat_"}, {"figd_"},     {"ATATT"},     {"tskey-", 12}, {"gsk_"},
    {"pplx-"},     {"xai-"},      {"PMAK-"},     {"NRAK-"},      {"AGE-SECRET-KEY-"},
    {"rubygems_"}, {"doo_v1_"},
}};
// Folders whose names are hashes.
constexpr std::array<std::string_view, 3> kHashedFolders = {"/nix/store/", "archive-v0/",
                                                            "/gnu/store/"};

enum class Class : std::uint8_t { kLower, kUpper, kDigit, kOther };

Class class_of(char c) {
  return c >= 'a' && c <= 'z'   ? Class::kLower
         : c >= 'A' && c <= 'Z' ? Class::kUpper
         : is_digit(c)          ? Class::kDigit
                                : Class::kOther;
}

bool is_alphanumeric(char c) {
  return class_of(c) != Class::kOther;
}

// Characters of tokens: base64 in both alphabets, and the dots between parts.
bool is_token_character(char c) {
  return is_alphanumeric(c) || c == '_' || c == '-' || c == '.';
}
bool is_base64_character(char c) {
  return is_alphanumeric(c) || c == '_' || c == '-' || c == '+' || c == '/';
}

std::size_t end_of_run(std::string_view text, std::size_t at, bool (*is_part)(char)) {
  while (at < text.size() && is_part(text[at])) {
    ++at;
  }
  return at;
}

// What a run of characters consists of; separators count neither as a change nor as a length.
struct Mixture {
  std::size_t characters = 0;
  std::size_t separators = 0;
  std::size_t changes = 0;
  std::array<std::size_t, 3> of_class{};
  bool hex = true;

  std::size_t count(Class one) const { return of_class[static_cast<std::size_t>(one)]; }
};

Mixture mixture_of(std::string_view run) {
  Mixture mixture;
  Class last = Class::kOther;
  for (const char c : run) {
    const Class one = class_of(c);
    if (one == Class::kOther) {
      ++mixture.separators;
      continue;
    }
    ++mixture.characters;
    ++mixture.of_class[static_cast<std::size_t>(one)];
    mixture.changes += last != Class::kOther && one != last ? 1 : 0;
    mixture.hex =
        mixture.hex && (one == Class::kDigit || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'));
    last = one;
  }
  return mixture;
}

// Returns whether a run is too random for a name that a person gave. Among random letters of both
// cases with digits, 62 of 100 neighbours differ in class; with letters of one case, 40.
// `path`: a part of a path; there one case with digits is a hash that a cache made (Inductor,
// Triton, Spack, Nix).
bool is_random(std::string_view run, bool path) {
  constexpr std::size_t kMinMixed = 20;
  constexpr std::size_t kMinOneCase = 32;
  const Mixture mixture = mixture_of(run);
  if (mixture.hex || mixture.separators * 10 > mixture.characters ||
      mixture.count(Class::kDigit) < 2) {
    return false;
  }
  // A letter or two of the other case end the names of some caches.
  constexpr std::size_t kMinOfCase = 3;
  if (std::min(mixture.count(Class::kLower), mixture.count(Class::kUpper)) >= kMinOfCase) {
    return mixture.characters >= kMinMixed && mixture.changes * 5 >= mixture.characters * 2;
  }
  return !path && mixture.separators == 0 && mixture.characters > kMinOneCase &&
         mixture.changes * 4 >= mixture.characters;
}

// Returns whether what follows a token's beginning is made by a machine: "sk-learn-contrib-tools"
// and "hf_models_of_last_week" are not.
bool is_generated(std::string_view rest) {
  constexpr std::size_t kMinChanges = 3;
  const Mixture mixture = mixture_of(rest);
  return mixture.changes >= kMinChanges ||
         (mixture.hex && mixture.separators == 0 && mixture.count(Class::kDigit) > 0);
}

void find_token(std::string_view text, std::size_t at, SecretSpans& spans) {
  const std::string_view rest = text.substr(at);
  const auto shape = std::find_if(kShapes.begin(), kShapes.end(), [rest](const TokenShape& one) {
    return rest.starts_with(one.beginning);
  });
  if (shape == kShapes.end()) {
    return;
  }
  // Its first characters decide, so that a long text is not read again for each of its words.
  constexpr std::size_t kMaxDeciding = 128;
  const std::string_view seen = rest.substr(shape->beginning.size(), kMaxDeciding);
  const std::string_view generated = seen.substr(0, end_of_run(seen, 0, is_token_character));
  if (generated.size() >= shape->length && is_generated(generated)) {
    spans.push_back({at, end_of_run(text, at, is_token_character)});
  }
}

// "eyJ...", whose parts are base64 of JSON; two parts are enough for a cut one.
void find_web_token(std::string_view text, std::size_t at, SecretSpans& spans) {
  constexpr std::size_t kMinBytes = 24;
  const std::string_view head = text.substr(at, kMinBytes);
  if (!head.starts_with("eyJ") || end_of_run(head, 0, is_token_character) < kMinBytes) {
    return;
  }
  spans.push_back({at, end_of_run(text, at, is_token_character)});
}

void find_random_run(std::string_view text, std::size_t at, SecretSpans& spans) {
  const std::size_t end = end_of_run(text, at, is_base64_character);
  const std::string_view run = text.substr(at, end - at);
  const std::string_view before = text.substr(0, at);
  // Paths are judged part by part: their folders are names, or hashes that caches make.
  const bool path = run.starts_with('/') || before.ends_with('.') || before.ends_with('~') ||
                    std::count(run.begin(), run.end(), '/') > 4;
  if (!path) {
    if (is_random(run, false)) {
      spans.push_back({at, end});
    }
    return;
  }
  for (std::size_t part = at; part < end;) {
    const std::size_t part_end = std::min(text.find('/', part), end);
    const std::string_view folder = text.substr(0, part);
    const bool hashed =
        std::any_of(kHashedFolders.begin(), kHashedFolders.end(),
                    [folder](std::string_view one) { return folder.ends_with(one); });
    if (!hashed && is_random(text.substr(part, part_end - part), true)) {
      spans.push_back({part, part_end});
    }
    part = part_end + 1;
  }
}

// "Bearer x", "Basic x": the word after the scheme of an HTTP header.
void find_header_value(std::string_view text, std::size_t at, SecretSpans& spans) {
  constexpr std::array<std::string_view, 3> kSchemes = {"bearer ", "basic ", "apikey "};
  constexpr std::size_t kMinBytes = 8;
  const std::string head = lower_case(text.substr(at, 7));
  const auto scheme = std::find_if(kSchemes.begin(), kSchemes.end(),
                                   [&](std::string_view one) { return head.starts_with(one); });
  if (scheme == kSchemes.end()) {
    return;
  }
  const std::size_t start = std::min(text.find_first_not_of(' ', at + scheme->size()), text.size());
  const std::size_t end = std::min(text.find_first_of(" \t\n\"',;", start), text.size());
  std::string_view value = text.substr(start, end - start);
  value = value.substr(0, value.find_last_not_of(".:!?)") + 1);
  const bool word = std::all_of(value.begin(), value.end(), [](char c) {
    return class_of(c) == Class::kLower || c == '-';  // "basic training."
  });
  if (value.size() >= kMinBytes && !word) {
    spans.push_back({start, end});
  }
}

void find_private_keys(std::string_view text, SecretSpans& spans) {
  constexpr std::string_view kBegin = "-----BEGIN ";
  constexpr std::string_view kEnd = "-----END ";
  constexpr std::size_t kMaxLabel = 64;
  std::size_t at = text.find(kBegin);
  while (at != std::string_view::npos) {
    std::size_t next = at + 1;
    if (contains(text.substr(at, kMaxLabel), "PRIVATE KEY")) {
      next = std::min(text.find(kEnd, at), text.size());
      spans.push_back({at, next});
    }
    at = text.find(kBegin, next);
  }
}

// "123456789:AAE..." of a Telegram bot, also in "/bot123456789:AAE.../send".
void find_bot_token(std::string_view text, std::size_t colon, SecretSpans& spans) {
  constexpr std::size_t kMinDigits = 8;
  constexpr std::size_t kTokenBytes = 35;
  std::size_t begin = colon;
  while (begin > 0 && colon - begin < kMinDigits && is_digit(text[begin - 1])) {
    --begin;
  }
  const std::string_view token = text.substr(colon + 1, kTokenBytes);
  if (colon - begin == kMinDigits && token.size() == kTokenBytes && token.starts_with("AA") &&
      end_of_run(token, 0, is_token_character) == kTokenBytes) {
    spans.push_back({begin, end_of_run(text, colon + 1, is_token_character)});
  }
}

// "https://hooks.slack.com/services/T0/B0/x": the path is the secret.
void find_webhooks(std::string_view text, SecretSpans& spans) {
  constexpr std::array<std::string_view, 3> kPlaces = {"hooks.slack.com/services/",
                                                       "/api/webhooks/", "/webhookb2/"};
  for (const std::string_view place : kPlaces) {
    std::size_t at = text.find(place);
    while (at != std::string_view::npos) {
      const std::size_t start = at + place.size();
      const std::size_t end = std::min(text.find_first_of(" \t\n\"'", start), text.size());
      spans.push_back({start, end});
      at = text.find(place, end);
    }
  }
}

}  // namespace

void find_secret_shapes(std::string_view text, SecretSpans& spans) {
  bool inside_word = false;
  bool inside_run = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool found = !spans.empty() && at < spans.back().end;
    if (!inside_word && !found && is_alphanumeric(text[at])) {
      find_token(text, at, spans);
      find_web_token(text, at, spans);
      find_header_value(text, at, spans);
    }
    inside_word = is_alphanumeric(text[at]);
    if (text[at] == ':') {
      find_bot_token(text, at, spans);
    }
    if (!inside_run && is_base64_character(text[at])) {
      find_random_run(text, at, spans);
    }
    inside_run = is_base64_character(text[at]);
  }
  find_private_keys(text, spans);
  find_webhooks(text, spans);
}

}  // namespace oddrank
