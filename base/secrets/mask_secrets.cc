#include "base/secrets/mask_secrets.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "base/ascii.h"
#include "base/base_name.h"
#include "base/secrets/secret_names.h"
#include "base/secrets/secret_spans.h"

namespace oddrank {

namespace {

// Longer text is cut before it is searched: a command line may have megabytes.
constexpr std::size_t kMaxSearched = 65536;

// Reports what the words of a script have by their place: "mysql -pX".
void find_in_script(std::string_view text, SecretSpans& spans) {
  OptionReader reader;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t start = text.find_first_not_of(" \t\n;|&()\"'", at);
    if (start == std::string_view::npos) {
      return;
    }
    at = std::min(text.find_first_of(" \t\n;|&()", start), text.size());
    if (const auto from = reader.secret_from(text.substr(start, at - start))) {
      spans.push_back({start + *from, at});
    }
  }
}

enum class TextKind : std::uint8_t { kText, kArgument, kScript };

std::string masked(std::string_view text, TextKind kind) {
  text = text.substr(0, kMaxSearched);
  SecretSpans spans;
  find_named_values(text, kind == TextKind::kScript, spans);
  find_url_secrets(text, spans);
  find_secret_shapes(text, spans);
  // An argument with blanks may be a command line for another shell: `ssh n0 "mysql -pX"`.
  if (kind != TextKind::kText && contains(text, " ")) {
    find_in_script(text, spans);
  }
  std::sort(spans.begin(), spans.end(),
            [](const SecretSpan& a, const SecretSpan& b) { return a.begin < b.begin; });
  std::string result;
  std::size_t done = 0;
  for (const SecretSpan& span : spans) {
    if (span.end <= done || span.begin >= span.end) {
      continue;
    }
    // Spans that overlap or touch are one secret.
    if (span.begin > done || done == 0) {
      result += text.substr(done, span.begin - done);
      result += kSecretMask;
    }
    done = span.end;
  }
  return result.append(text.substr(done));
}

}  // namespace

std::string mask_text(std::string_view text) {
  return masked(text, TextKind::kText);
}

std::string mask_command(std::span<const std::string> arguments, std::size_t limit) {
  std::string line;
  OptionReader reader;
  for (const std::string& argument : arguments) {
    if (line.size() > limit) {
      break;
    }
    line += line.empty() ? "" : " ";
    const bool script = reader.take_script();
    const std::size_t secret =
        script ? argument.size() : reader.secret_from(argument).value_or(argument.size());
    line += masked(std::string_view(argument).substr(0, secret),
                   script ? TextKind::kScript : TextKind::kArgument);
    line += secret < argument.size() ? kSecretMask : "";
  }
  std::replace_if(line.begin(), line.end(), is_control, ' ');
  constexpr std::string_view kMore = "...";
  if (line.size() > limit) {
    line.resize(limit - std::min(limit, kMore.size()));
    line += kMore.substr(0, limit);
  }
  return line;
}

namespace {

enum class Takes : std::uint8_t { kAttached = 1, kNext = 2, kBoth = 3 };

struct SecretOption {
  std::string_view program;  // names begin with it: "mysql" is also "mysqldump"
  std::string_view option;   // "": a word such as "login", whose next argument counts
  Takes takes = Takes::kBoth;
};

// From the manual pages of these programs. `mysql -p db` asks for the password: only "-pX" has it.
constexpr std::array<SecretOption, 27> kOptions = {{
    {"mysql", "-p", Takes::kAttached},
    {"mariadb", "-p", Takes::kAttached},
    {"sshpass", "-p", Takes::kBoth},
    {"7z", "-p", Takes::kAttached},
    {"unrar", "-p", Takes::kAttached},
    {"mongo", "-p", Takes::kBoth},
    {"curl", "-u", Takes::kBoth},
    {"curl", "--user", Takes::kNext},
    {"curl", "--proxy-user", Takes::kNext},
    {"curl", "-U", Takes::kBoth},
    {"docker", "-p", Takes::kBoth},
    {"podman", "-p", Takes::kBoth},
    {"helm", "-p", Takes::kBoth},
    {"skopeo", "--creds", Takes::kNext},
    {"redis-cli", "-a", Takes::kBoth},
    {"ldap", "-w", Takes::kBoth},
    {"smbclient", "-U", Takes::kBoth},
    {"sqlcmd", "-P", Takes::kBoth},
    {"ipmitool", "-P", Takes::kBoth},
    {"zip", "-P", Takes::kBoth},
    {"unzip", "-P", Takes::kBoth},
    {"snmp", "-c", Takes::kBoth},
    {"wandb", "login", Takes::kNext},
    {"vault", "login", Takes::kNext},
    {"az", "-p", Takes::kBoth},
    {"openssl", "-k", Takes::kNext},
    {"xfreerdp", "/p:", Takes::kAttached},
}};
static_assert(kOptions.size() <= 32);  // bits of OptionReader::programs_

constexpr std::array<std::string_view, 7> kShells = {"sh",  "bash", "dash", "zsh",
                                                     "ksh", "fish", "su"};
// "--use-auth" may stand alone.
constexpr std::array<std::string_view, 9> kFlagWords = {
    "no", "use", "enable", "disable", "skip", "require", "allow", "has", "trust"};

// Returns whether "-pX" of an unknown program has a password: neither a number nor a word, as in
// "-p8080" and "-parallel". Heuristic: it has three kinds of characters.
bool is_password_like(std::string_view value) {
  constexpr std::size_t kMinBytes = 6;
  bool lower = false;
  bool upper = false;
  bool digit = false;
  bool mark = false;
  for (const char c : value) {
    lower = lower || (c >= 'a' && c <= 'z');
    upper = upper || (c >= 'A' && c <= 'Z');
    digit = digit || is_digit(c);
    mark = mark || contains("!@#$%^&*?~+", std::string_view(&c, 1));
  }
  const int kinds = int{lower} + int{upper} + int{digit} + int{mark};
  return value.size() >= kMinBytes && kinds >= 3 && value.find_first_of("=/:") == std::string::npos;
}

bool may_stand_alone(std::string_view option) {
  const std::string_view name =
      option.substr(std::min(option.find_first_not_of('-'), option.size()));
  const std::string first = lower_case(name.substr(0, name.find_first_of("-_")));
  return std::find(kFlagWords.begin(), kFlagWords.end(), first) != kFlagWords.end();
}

}  // namespace

void OptionReader::note_program(std::string_view argument) {
  const std::string_view name = base_name(argument);
  for (std::size_t i = 0; i < kOptions.size(); ++i) {
    programs_ |= name.starts_with(kOptions[i].program) ? 1U << i : 0U;
  }
  shell_ = shell_ || std::find(kShells.begin(), kShells.end(), name) != kShells.end();
}

// Sets whether the argument after this one is a secret.
void OptionReader::note_option(std::string_view argument) {
  const bool option = argument.size() > 1 && argument.front() == '-';
  // "aws configure set aws_secret_access_key x": a name of several words is as good as an option.
  const bool name = option || argument.find('_') != std::string_view::npos;
  const bool named = name && argument.find_first_of("=:/ \t\n") == std::string_view::npos &&
                     names_secret(argument);
  const bool of_program = [&] {
    for (std::size_t i = 0; i < kOptions.size(); ++i) {
      const bool next = (static_cast<int>(kOptions[i].takes) & 2) != 0;
      if (next && (programs_ >> i & 1U) != 0 && argument == kOptions[i].option) {
        return true;
      }
    }
    return false;
  }();
  secret_next_ = named || of_program;
  flag_ = named && may_stand_alone(argument);
  option_ = secret_next_ ? std::string(argument) : std::string();
}

std::optional<std::size_t> OptionReader::attached_value(std::string_view argument) const {
  for (std::size_t i = 0; i < kOptions.size(); ++i) {
    const SecretOption& one = kOptions[i];
    const bool attached = (static_cast<int>(one.takes) & 1) != 0;
    if (attached && (programs_ >> i & 1U) != 0 && argument.size() > one.option.size() &&
        argument.starts_with(one.option)) {
      return one.option.size();
    }
  }
  const bool password = argument.starts_with("-p") && is_password_like(argument.substr(2));
  return password ? std::optional<std::size_t>(2) : std::nullopt;
}

bool OptionReader::take_script() {
  return std::exchange(expects_script_, false);
}

std::optional<std::size_t> OptionReader::secret_from(std::string_view argument) {
  const bool option = argument.size() > 1 && argument.front() == '-';
  if (secret_next_ && !(flag_ && option) && !is_innocent_value(option_, argument)) {
    secret_next_ = false;
    expects_script_ = false;
    return 0;
  }
  // "-p X" of an unknown program may be a port, a path or a profile.
  if (std::exchange(plain_p_, argument == "-p") && !option && is_password_like(argument)) {
    return 0;
  }
  // "bash -c", "bash -lc": the next argument is the script.
  expects_script_ = shell_ && option && argument[1] != '-' && argument.back() == 'c';
  note_option(argument);
  if (!option) {
    note_program(argument);
  }
  return attached_value(argument);
}

}  // namespace oddrank
