#include "collectives/nccl/ras_json.h"

#include <algorithm>
#include <limits>

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

}  // namespace oddrank::collectives
