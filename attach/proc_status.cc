#include "attach/proc_status.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/parse_number.h"
#include "base/read_file.h"
#include "base/split.h"

namespace oddrank::attach {
namespace {

// Nesting of pid namespaces is limited to 32 by the kernel (MAX_PID_NS_LEVEL).
constexpr std::size_t kMaxNamespaces = 33;

template <typename T>
void take_ids(std::string_view values, T& real, T& effective, T& saved) {
  const std::array<T*, 3> into{&real, &effective, &saved};
  const std::vector<std::string_view> words = split_blanks(values);
  for (std::size_t i = 0; i < into.size() && i < words.size(); ++i) {
    *into.at(i) = parse_number<T>(words[i]).value_or(0);
  }
}

void take_namespaces(std::string_view values, std::vector<pid_t>& pids) {
  for (const std::string_view word : split_blanks(values)) {
    const auto pid = parse_number<pid_t>(word);
    if (!pid || pids.size() >= kMaxNamespaces) {
      return;
    }
    pids.push_back(*pid);
  }
}

std::uint64_t number(std::string_view value, int base = 10) {
  return parse_number<std::uint64_t>(trim(value), base).value_or(0);
}

void take_line(std::string_view name, std::string_view value, ProcStatus& status) {
  if (name == "State") {
    status.state = trim(value).empty() ? '?' : trim(value).front();
  } else if (name == "Tgid") {
    status.process = parse_number<pid_t>(trim(value)).value_or(0);
  } else if (name == "TracerPid") {
    status.tracer = parse_number<pid_t>(trim(value)).value_or(0);
  } else if (name == "Gid") {
    take_ids(value, status.real_gid, status.effective_gid, status.saved_gid);
  } else if (name == "NSpid") {
    take_namespaces(value, status.ns_pids);
  } else if (name == "SigBlk") {
    status.blocked = number(value, 16);
  } else if (name == "CapPrm") {
    status.permitted_capabilities = number(value, 16);
  } else if (name == "CapEff") {
    status.effective_capabilities = number(value, 16);
  } else if (name == "voluntary_ctxt_switches") {
    status.voluntary_switches = number(value);
  } else if (name == "nonvoluntary_ctxt_switches") {
    status.involuntary_switches = number(value);
  }
}

}  // namespace

Result<ProcStatus> parse_proc_status(std::string_view text) {
  ProcStatus status;
  bool has_owner = false;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const auto colon = line.find(':');
    if (colon == std::string_view::npos) {
      continue;
    }
    const std::string_view name = line.substr(0, colon);
    const std::string_view value = line.substr(colon + 1);
    // The kernel writes each line once, and the name's newlines as "\n": the first line counts.
    if (name == "Uid" && !has_owner) {
      has_owner = true;
      take_ids(value, status.real_uid, status.effective_uid, status.saved_uid);
      continue;
    }
    take_line(name, value, status);
  }
  if (!has_owner) {
    return fail(Errc::kBadData, "not the status of a process");
  }
  return status;
}

Result<ProcStatus> read_proc_status(pid_t pid) {
  const std::string path = "/proc/" + std::to_string(pid) + "/status";
  auto text = read_record(path, kMaxStatusBytes);
  if (!text) {
    if (text.error().code == Errc::kNotFound) {
      return fail(Errc::kGone, "pid " + std::to_string(pid) + " does not exist");
    }
    return fail(std::move(text).error());
  }
  auto status = parse_proc_status(*text);
  if (!status) {
    return fail(std::move(status).error().in(path));
  }
  return status;
}

}  // namespace oddrank::attach
