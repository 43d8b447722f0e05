#include "base/secrets/secret_names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <span>
#include <string>
#include <vector>

#include "base/ascii.h"

namespace oddrank {
namespace {

using Words = std::span<const std::string_view>;

// A name with one of these words is a secret's, unless the name goes on with a word of kAbout.
constexpr std::array<std::string_view, 45> kSecretWords = {
    "password", "passwords", "passwd",      "passphrase",    "passcode",   "passwort",
    "pwd",      "pw",        "secret",      "secrets",       "credential", "credentials",
    "cred",     "creds",     "auth",        "authorization", "apikey",     "apitoken",
    "authkey",  "authtoken", "private",     "privkey",       "cookie",     "cookies",
    "jwt",      "bearer",    "sig",         "signature",     "otp",        "totp",
    "csrf",     "xsrf",      "sessionid",   "sas",           "mnemonic",   "seedphrase",
    "token",    "pass",      "key",         "pin",           "pat",        "session",
    "license",  "keypair",   "accesskeyid",
};
// Words written without a separator: "hftoken", "dbpassword", "mypass".
constexpr std::array<std::string_view, 16> kSecretEnds = {
    "token",     "password",  "passwd",     "passphrase", "secret",     "apikey",
    "accesskey", "secretkey", "sshkey",     "authkey",    "privatekey", "accountkey",
    "masterkey", "pass",      "signingkey", "pwd"};
constexpr std::array<std::string_view, 14> kInnocentEnds = {
    "bypass",  "compass",  "encompass", "trespass", "surpass", "multipass", "singlepass",
    "lowpass", "highpass", "bandpass",  "allpass",  "onepass", "underpass", "overpass"};
// A name with one of these words after the secret one means something about the secret: its file,
// size or kind.
constexpr std::array<std::string_view, 47> kAbout = {
    "file",     "files",    "path",    "paths",    "dir",      "folder", "type",    "types",
    "method",   "mode",     "url",     "uri",      "endpoint", "host",   "port",    "enabled",
    "disabled", "provider", "backend", "required", "len",      "length", "lengths", "size",
    "sizes",    "count",    "counts",  "num",      "timeout",  "ttl",    "expiry",  "expires",
    "expire",   "name",     "names",   "format",   "version",  "policy", "error",   "errors",
    "config",   "class",    "helper",  "cache",    "manager",  "store",  "module"};
// Words of language models around "token", of tables and attention around "key", of rendering and
// signal processing around "pass".
constexpr std::array<std::string_view, 29> kBeforeToken = {
    "eos",   "bos",  "pad",   "unk",   "mask", "cls",   "sep",     "special", "max",   "min",
    "num",   "per",  "next",  "last",  "prev", "first", "current", "new",     "image", "audio",
    "video", "text", "total", "extra", "stop", "begin", "end",     "start",   "vision"};
constexpr std::array<std::string_view, 31> kAfterToken = {
    "id",       "ids",   "idx",     "index",   "dim",   "embed",      "embedding", "embeddings",
    "logits",   "loss",  "mask",    "dropout", "shift", "mixing",     "budget",    "rate",
    "limit",    "batch", "weights", "prob",    "probs", "dispatcher", "type",      "level",
    "parallel", "wise",  "ring",    "router",  "drop",  "position",   "positions"};
constexpr std::array<std::string_view, 25> kBeforeKey = {
    "public", "primary", "foreign", "sort",  "partition", "group",   "cache",   "store", "dict",
    "query",  "lookup",  "row",     "index", "hot",       "sorting", "routing", "map",   "cross",
    "past",   "num",     "shard",   "hash",  "metric",    "monitor", "barrier"};
constexpr std::array<std::string_view, 27> kAfterKey = {
    "id",    "ids",    "value",  "values", "dim",    "dims",       "padding", "mask", "heads",
    "bits",  "prefix", "states", "state",  "proj",   "projection", "layer",   "func", "fn",
    "order", "range",  "point",  "frame",  "frames", "bias",       "board",   "word", "map"};
constexpr std::array<std::string_view, 17> kBeforePass = {
    "forward", "backward", "first", "second", "third", "single", "multi", "low", "high",
    "band",    "render",   "num",   "by",     "last",  "one",    "two",   "all"};

bool has(Words words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool is_small(char c) {
  return c >= 'a' && c <= 'z';
}
bool is_capital(char c) {
  return c >= 'A' && c <= 'Z';
}

// Returns the words of a name in lower case: "hf-api_keyV2" -> hf api key v2, "APIKey" -> api key.
// Digits at the end of a word are dropped: "password2" is a password.
std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words;
  std::string word;
  const auto finish = [&] {
    while (word.size() > 1 && is_digit(word.back())) {
      word.pop_back();
    }
    if (!word.empty()) {
      words.push_back(lower_case(word));
    }
    word.clear();
  };
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if (!is_small(c) && !is_capital(c) && !is_digit(c)) {
      finish();
      continue;
    }
    const bool after_lower = i > 0 && (is_small(name[i - 1]) || is_digit(name[i - 1]));
    const bool before_lower =
        i > 0 && is_capital(name[i - 1]) && i + 1 < name.size() && is_small(name[i + 1]);
    if (is_capital(c) && (after_lower || before_lower)) {
      finish();
    }
    word.push_back(c);
  }
  finish();
  return words;
}

// Returns whether it is a list of secrets: "api_tokens". Tokens and keys alone are counted, not
// kept.
bool is_list_of_secrets(std::string_view before, std::string_view word) {
  constexpr std::array<std::string_view, 19> kBeforeLists = {
      "api",    "auth",   "access",     "secret",  "hf",     "bot",    "refresh",
      "bearer", "ssh",    "private",    "service", "github", "gitlab", "ngc",
      "wandb",  "openai", "encryption", "signing", "hub"};
  constexpr std::array<std::string_view, 5> kLists = {"apitokens", "apikeys", "accesskeys",
                                                      "authtokens", "secretkeys"};
  return has(kLists, word) || ((word == "tokens" || word == "keys") && has(kBeforeLists, before));
}

bool is_secret_word(std::string_view word) {
  if (has(kSecretWords, word)) {
    return true;
  }
  // "dbpw", "rootpw"
  if (word.size() > 2 && word.size() <= 8 && word.ends_with("pw")) {
    return true;
  }
  return !has(kInnocentEnds, word) &&
         std::any_of(kSecretEnds.begin(), kSecretEnds.end(),
                     [word](std::string_view end) { return word.ends_with(end); });
}

// Returns whether the words around the secret one show that it means something else.
bool is_another_meaning(std::string_view before, std::string_view word, std::string_view after) {
  if (word == "token") {
    return has(kBeforeToken, before) || has(kAfterToken, after);
  }
  if (word == "key") {
    return has(kBeforeKey, before) || has(kAfterKey, after);
  }
  if (word == "pass") {
    return has(kBeforePass, before) || after == "through" || after == "rate" || after == "manager";
  }
  if (word == "session" || word == "license") {
    return after != (word == "session" ? "id" : "key") && after != "token" && after != "secret";
  }
  if (word == "private") {
    return !after.empty() && after != "key" && after != "token";
  }
  if (word == "auth") {
    return after == "server" || after == "scheme" || after == "realm" || after == "user";
  }
  if (word == "pin") {
    return !after.empty();  // pin_memory, pin_threads
  }
  // A pattern on its own; "GITHUB_PAT" is an access token.
  return word == "pat" && (before.empty() || !after.empty());
}

}  // namespace

bool names_secret(std::string_view name) {
  constexpr std::size_t kMaxNameBytes = 256;
  // The shell's own variables for the current folder.
  if (name == "PWD" || name == "OLDPWD" || name == "INIT_CWD") {
    return false;
  }
  const std::vector<std::string> words = words_of(name.substr(0, kMaxNameBytes));
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view before = i > 0 ? std::string_view(words[i - 1]) : std::string_view();
    const std::string_view after =
        i + 1 < words.size() ? std::string_view(words[i + 1]) : std::string_view();
    const bool secret = is_secret_word(words[i]) ? !is_another_meaning(before, words[i], after)
                                                 : is_list_of_secrets(before, words[i]);
    if (secret && !has(kAbout, after)) {
      return true;
    }
  }
  return false;
}

bool is_innocent_value(std::string_view name, std::string_view value) {
  constexpr std::array<std::string_view, 12> kPlainValues = {
      "", "true", "false", "yes", "no", "on", "off", "none", "null", "nil", "auto", "undefined"};
  constexpr std::size_t kMaxCountDigits = 4;
  const std::string lower = lower_case(value);
  if (has(kPlainValues, lower)) {
    return true;
  }
  const bool count = value.size() <= kMaxCountDigits &&
                     std::all_of(value.begin(), value.end(), [](char c) { return is_digit(c); });
  if (!count) {
    return false;
  }
  const std::vector<std::string> words = words_of(name);
  return std::none_of(words.begin(), words.end(), [](const std::string& word) {
    return word == "pin" || word == "pw" || word == "otp" || word == "pwd" ||
           (word != "pass" && contains(word, "pass"));
  });
}

std::size_t object_summary(std::string_view text) {
  constexpr std::size_t kMaxSummary = 160;
  const std::size_t end = text.substr(0, kMaxSummary).find('>');
  const std::size_t name =
      text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789", 1);
  if (!text.starts_with('<') || end == std::string_view::npos || name < 2 || name >= end) {
    return 0;
  }
  std::string_view rest = text.substr(name, end - name);
  constexpr std::string_view kOf = " of ";
  if (rest.starts_with(kOf)) {
    rest.remove_prefix(kOf.size());
    const bool count = !rest.empty() && rest.find_first_not_of("0123456789") == rest.npos;
    return count ? end + 1 : 0;
  }
  const std::size_t close = rest.find(')');
  if (!rest.starts_with(" (") || close == rest.npos ||
      rest.substr(2, close - 2).find_first_not_of("0123456789, .") != rest.npos) {
    return 0;
  }
  rest.remove_prefix(close + 1);
  constexpr std::size_t kMaxKind = 28;  // " float8_e4m3fnuz cuda:7"
  const bool kind = rest.size() <= kMaxKind &&
                    rest.find_first_not_of("abcdefghijklmnopqrstuvwxyz_:0123456789 ") == rest.npos;
  return kind ? end + 1 : 0;
}

}  // namespace oddrank
