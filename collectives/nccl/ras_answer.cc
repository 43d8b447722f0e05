#include "collectives/nccl/ras_answer.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "base/parse_number.h"
#include "base/split.h"
#include "collectives/flight/json_reader.h"

namespace oddrank::collectives {

namespace {

using snapshot::RasPresence;

constexpr std::size_t kMaxMembers = std::size_t{1} << 17;
constexpr std::size_t kMaxRasText = 100;  // of a text
// A member takes at least 150 characters, a communicator more. The rows of both, and the commas,
// are limited by the length of the text, so that malformed input cannot use more memory than its
// own size.
constexpr std::size_t kMinRow = 32;

std::size_t max_rows(std::string_view text) {
  return text.size() / kMinRow + 16;
}

std::int64_t integer_in(const PlainData& data,
                        const PlainValue& dict,
                        std::string_view key,
                        std::int64_t unknown) {
  const PlainValue value = data.find(dict, key);
  return value.kind == PlainKind::kInt ? value.integer : unknown;
}

std::int32_t number_in(const PlainData& data, const PlainValue& dict, std::string_view key) {
  const std::int64_t value = integer_in(data, dict, key, -1);
  return value < std::numeric_limits<std::int32_t>::max() && value >= -1
             ? static_cast<std::int32_t>(value)
             : -1;
}

bool flag_in(const PlainData& data, const PlainValue& dict, std::string_view key) {
  const PlainValue value = data.find(dict, key);
  return (value.kind == PlainKind::kBool || value.kind == PlainKind::kInt) && value.integer != 0;
}

std::string text_in(const PlainData& data, const PlainValue& dict, std::string_view key) {
  return std::string(PlainData::text_of(data.find(dict, key)).substr(0, kMaxRasText));
}

RasMember read_member(const PlainData& data, const PlainValue& row, bool missing) {
  RasMember member;
  member.rank = number_in(data, row, "rank");
  member.host = text_in(data, row, "host");
  if (member.host == "unknown") {
    member.host.clear();
  }
  member.pid = std::max(number_in(data, row, "pid"), 0);
  member.device = number_in(data, row, "cuda_dev");
  const PlainValue status = data.find(row, "status");
  if (missing) {
    member.presence =
        flag_in(data, status, "considered_dead") ? RasPresence::kDead : RasPresence::kMissing;
    return member;
  }
  member.init_state = std::max(number_in(data, status, "init_state"), 0);
  member.async_error = std::max(number_in(data, status, "async_error"), 0);
  member.leaving = flag_in(data, status, "finalize_called") ||
                   flag_in(data, status, "destroy_flag") || flag_in(data, status, "abort_flag");
  const PlainValue counts = data.find(row, "collective_counts");
  for (std::size_t at = 0; at < snapshot::kRasOperations; ++at) {
    member.counts[at] =
        std::max<std::int64_t>(integer_in(data, counts, snapshot::kRasOperationNames[at], -1), -1);
  }
  return member;
}

RasGroup read_group(const PlainData& data, const PlainValue& row, std::size_t& left) {
  RasGroup group;
  group.hash = text_in(data, row, "hash") + " " + text_in(data, row, "secondary_hash");
  group.size = number_in(data, row, "size");
  for (const bool missing : {false, true}) {
    for (const PlainValue& member :
         data.items(data.find(row, missing ? "missing_ranks" : "ranks"))) {
      if (left > 0 && group.members.size() < kMaxMembers && member.kind == PlainKind::kDict) {
        --left;
        group.members.push_back(read_member(data, member, missing));
      }
    }
  }
  return group;
}

}  // namespace

std::string repair_json(std::string_view text) {
  std::string repaired;
  repaired.reserve(text.size() + 64);
  bool in_string = false;
  char last = ' ';  // outside of strings, and not a blank
  const std::size_t most = max_rows(text);
  std::size_t added = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char character = text[at];
    if (in_string) {
      repaired.push_back(character);
      if (character == '\\' && at + 1 < text.size()) {
        repaired.push_back(text[++at]);
      } else if (character == '"') {
        in_string = false;
        last = '"';
      }
      continue;
    }
    if (character == '"') {
      const bool after_value =
          last != ' ' && std::string_view(",:[{").find(last) == std::string_view::npos;
      const bool forgotten = after_value && added < most;
      added += forgotten ? 1 : 0;
      repaired += forgotten ? ",\"" : "\"";
      in_string = true;
      continue;
    }
    repaired.push_back(character);
    if (character != ' ' && character != '\n' && character != '\r' && character != '\t') {
      last = character;
    }
  }
  return repaired;
}

Result<RasAnswer> read_ras_json(std::string_view text) {
  const std::string repaired = repair_json(text);
  ODDRANK_TRY(const PlainDocument document, read_json(repaired));
  const PlainData& data = document.data;
  RasAnswer answer;
  answer.version = text_in(data, document.root, "nccl_version");
  const PlainValue communicators = data.find(document.root, "communicators");
  if (answer.version.empty() || communicators.kind != PlainKind::kList) {
    return fail(Errc::kBadData, "not an answer of RAS: it has no version or communicators");
  }
  std::size_t left = max_rows(text);
  for (const PlainValue& row : data.items(communicators)) {
    if (left > 0 && row.kind == PlainKind::kDict) {
      --left;
      answer.groups.push_back(read_group(data, row, left));
    }
  }
  answer.timeouts = std::max<std::int64_t>(
      integer_in(data, data.find(document.root, "ras"), "timeouts_count", 0), 0);
  return answer;
}

namespace {

constexpr std::size_t kMaxLines = std::size_t{1} << 20;
// A line about a member or a communicator has at least some sixty characters. Their number is
// limited by the length of the text, so that malformed input cannot use more memory than its own
// size.
constexpr std::size_t kMinLine = 32;

// Returns the number after the first `mark` of a line; -1 if there is none.
std::int64_t number_behind(std::string_view line, std::string_view mark) {
  const auto at = line.find(mark);
  if (at == std::string_view::npos) {
    return -1;
  }
  line.remove_prefix(at + mark.size());
  const auto digits = line.substr(0, line.find_first_not_of("0123456789"));
  return parse_number<std::int64_t>(digits).value_or(-1);
}

std::int32_t small_number_behind(std::string_view line, std::string_view mark) {
  const std::int64_t number = number_behind(line, mark);
  return number <= std::numeric_limits<std::int32_t>::max() ? static_cast<std::int32_t>(number)
                                                            : -1;
}

// Reads "... -- GPU 2 managed by process 31711 on node 127.0.0.1".
void read_place(std::string_view line, RasMember& member) {
  member.device = small_number_behind(line, "GPU ");
  const std::int32_t pid = small_number_behind(line, "rocess ");
  member.pid = std::max(pid, 0);
  constexpr std::string_view kNode = "on node ";
  if (const auto at = line.find(kNode); at != std::string_view::npos) {
    const std::string_view host = line.substr(at + kNode.size());
    member.host = std::string(host.substr(0, std::min<std::size_t>(host.find(' '), 64)));
  }
}

class TextReader {
 public:
  Result<RasAnswer> run(std::string_view text);

 private:
  void read_line(std::string_view line);
  // Reads "    0         1         1         4         4         4   RUNNING  MISMATCH".
  void read_table_row(std::string_view line);
  // Reads "#0-0 (1122334455667788) MISMATCH".
  void open_section(std::string_view line);
  // Returns the member; nullptr if there are more members than a text of this size can describe.
  RasMember* member(std::int32_t rank);
  bool take_place();
  void read_group_line(std::string_view line);

  RasAnswer answer_;
  std::map<std::int32_t, std::int32_t> sizes_;  // by number of the table's row
  std::map<std::string, std::size_t> groups_;   // by hash: index into the answer's
  std::map<std::pair<std::size_t, std::int32_t>, std::size_t> members_;  // by group and rank
  RasGroup* group_ = nullptr;  // the group whose section is being read
  std::size_t number_ = 0;     // its index
  std::size_t left_ = 0;       // rows that may still be added
  std::size_t operation_ = snapshot::kRasOperations;
  bool dead_ = false;
};

Result<RasAnswer> TextReader::run(std::string_view text) {
  left_ = text.size() / kMinLine + 16;
  for (std::size_t lines = 0; !text.empty() && lines < kMaxLines; ++lines) {
    const std::string_view line = trim(take_piece(text, '\n'));
    if (!line.empty()) {
      read_line(line);
    }
  }
  if (answer_.version.empty()) {
    return fail(Errc::kBadData, "not an answer of RAS: it has no version");
  }
  return std::move(answer_);
}

void TextReader::read_line(std::string_view line) {
  constexpr std::string_view kVersion = "NCCL version ";
  if (line.starts_with(kVersion)) {
    const std::string_view rest = line.substr(kVersion.size());
    answer_.version = std::string(rest.substr(0, std::min<std::size_t>(rest.find(' '), 40)));
  } else if (line.starts_with('#')) {
    open_section(line);
  } else if (line == "INCOMPLETE" || line == "DEAD" || line == "TIMEOUT") {
    group_ = nullptr;
    dead_ = line == "DEAD";
  } else if (line.starts_with("Process ") && group_ == nullptr) {
    if (!take_place()) {
      return;
    }
    RasMember& member = answer_.lost.emplace_back();
    member.presence = dead_ ? RasPresence::kDead : RasPresence::kMissing;
    read_place(line, member);
  } else if (line.find("communication timeout") != std::string_view::npos) {
    answer_.timeouts = std::max<std::int64_t>(number_behind(line, "ncountered "), 0);
  } else if (group_ == nullptr) {
    read_table_row(line);
  } else {
    read_group_line(line);
  }
}

void TextReader::read_table_row(std::string_view line) {
  constexpr std::size_t kMaxRow = 256;
  const auto words = split_blanks(line.substr(0, kMaxRow));
  const auto index = words.size() == 8 ? parse_number<std::int32_t>(words[0]) : std::nullopt;
  const auto ranks = words.size() == 8 ? parse_number<std::int32_t>(words[4]) : std::nullopt;
  if (index && ranks && take_place()) {
    sizes_[*index] = *ranks;
  }
}

void TextReader::open_section(std::string_view line) {
  const auto open = line.find('(');
  const auto close = line.find(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) {
    return;
  }
  const std::string hash =
      "0x" + std::string(line.substr(open + 1, std::min<std::size_t>(close - open - 1, 64)));
  operation_ = snapshot::kRasOperations;
  const auto at = groups_.find(hash);
  if (at == groups_.end() && !take_place()) {
    group_ = nullptr;
    return;
  }
  number_ = at == groups_.end() ? answer_.groups.size() : at->second;
  if (at == groups_.end()) {
    groups_.emplace(hash, number_);
    const auto size = sizes_.find(small_number_behind(line, "#"));
    answer_.groups.push_back({hash, size == sizes_.end() ? -1 : size->second, {}});
  }
  group_ = &answer_.groups[number_];
}

RasMember* TextReader::member(std::int32_t rank) {
  auto& members = group_->members;
  const auto [at, is_new] = members_.try_emplace({number_, rank}, members.size());
  if (!is_new) {
    return &members[at->second];
  }
  if (!take_place()) {
    members_.erase(at);
    return nullptr;
  }
  members.emplace_back().rank = rank;
  return &members.back();
}

bool TextReader::take_place() {
  left_ -= left_ > 0 ? 1 : 0;
  return left_ > 0;
}

void TextReader::read_group_line(std::string_view line) {
  if (line.find("operation counts") != std::string_view::npos) {
    operation_ = snapshot::kRasOperations;
    std::size_t longest = 0;
    for (std::size_t at = 0; at < snapshot::kRasOperations; ++at) {
      const std::string_view name = snapshot::kRasOperationNames[at];
      const std::string word = " " + std::string(name) + " ";
      if (line.find(word) != std::string_view::npos && name.size() > longest) {
        operation_ = at;
        longest = name.size();
      }
    }
    return;
  }
  const bool one = line.starts_with("Rank ");
  const bool launched = line.find("launched up to operation ") != std::string_view::npos;
  const bool nothing = line.find("not launched any operation") != std::string_view::npos;
  const bool reported = line.find(" reported ") != std::string_view::npos;
  const bool missing = one && !launched && !nothing && !reported &&
                       line.find(" -- ") != std::string_view::npos &&
                       line.find("status") == std::string_view::npos;
  const bool counted = (launched || nothing) && operation_ < snapshot::kRasOperations;
  if (!counted && !missing && !(one && reported && !launched && !nothing)) {
    return;
  }
  RasMember* which = member(one ? small_number_behind(line, "Rank ") : -1);
  if (which == nullptr) {
    return;
  }
  if (counted) {
    which->counts[operation_] = nothing ? 0 : number_behind(line, "to operation ");
  } else if (missing) {
    which->presence = RasPresence::kMissing;
  } else {
    which->async_error = 3;  // ncclInternalError: the exact error is only in words
  }
  if (one) {
    read_place(line, *which);
  }
}

}  // namespace

Result<RasAnswer> read_ras_text(std::string_view text) {
  return TextReader().run(text);
}

}  // namespace oddrank::collectives
