#include "collectives/group_evidence.h"

#include <algorithm>
#include <array>

#include "base/parse_number.h"
#include "base/split.h"

namespace oddrank::collectives {
namespace {

// Parameters with the default None or False that the function does not assign: any other value
// certainly came from the caller.
constexpr std::array<std::string_view, 4> kTelling = {"src", "dst", "async_op", "device_ids"};

std::optional<std::size_t> next_python(const CallFrames& frames, std::size_t index) {
  for (std::size_t i = index + 1; i < frames.size(); ++i) {
    if (frames.is_python(i)) {
      return i;
    }
  }
  return std::nullopt;
}

bool is_wrapper(const CallFrames& frames, std::size_t index) {
  const std::string_view function = frames.function(index);
  const std::string_view file = frames.file(index);
  return (function == "wrapper" || function.ends_with(".wrapper")) &&
         (file.ends_with("torch/distributed/c10d_logger.py") ||
          file.ends_with("torch/distributed/logger.py") ||
          file.ends_with("torch/distributed/distributed_c10d.py"));
}

// Counts the keyword arguments that are certainly something other than `group`.
std::size_t certain_keywords(const CallFrames& frames,
                             std::size_t index,
                             const std::vector<std::string_view>& parameters,
                             std::size_t positional) {
  std::size_t count = 0;
  for (const std::string_view name : kTelling) {
    const auto at = std::find(parameters.begin(), parameters.end(), name);
    if (static_cast<std::size_t>(at - parameters.begin()) < positional) {
      continue;
    }
    const auto value = frames.local(index, name);
    if (value && *value != "None" && *value != "False" && *value != "<unreadable>") {
      ++count;
    }
  }
  return count;
}

std::optional<std::string> wrapper_evidence(const CallFrames& frames,
                                            std::size_t index,
                                            const PythonCall& call) {
  const auto wrapper = next_python(frames, index);
  if (!wrapper || !is_wrapper(frames, *wrapper)) {
    return std::nullopt;
  }
  const auto args = frames.local(*wrapper, "args");
  const auto kwargs = frames.local(*wrapper, "kwargs");
  std::vector<std::string_view> values;
  const auto given = args ? sequence_size(*args, values) : std::nullopt;
  const auto keywords = kwargs ? braced_size(*kwargs, "dict") : std::nullopt;
  if (!given || !keywords) {
    return std::nullopt;
  }
  const auto parameters = split(call.parameters, ' ');
  const std::size_t position = parameters.size() - 1;  // `group` is the last of them
  if (*given > position) {
    const bool none = position < values.size() && values[position] == "None";
    return none ? std::optional<std::string>("group=None") : std::nullopt;
  }
  // A parameter that a future version assigns would also be counted: then the numbers differ, and
  // the group stays unknown.
  if (certain_keywords(frames, index, parameters, *given) != *keywords) {
    return std::nullopt;
  }
  return "called without a group";
}

}  // namespace

std::optional<std::size_t> braced_size(std::string_view text, std::string_view kind) {
  std::vector<std::string_view> items;
  if (text.starts_with('{')) {
    return sequence_size(text, items);
  }
  const std::string before = "<" + std::string(kind) + " of ";
  if (!text.starts_with(before) || !text.ends_with('>')) {
    return std::nullopt;
  }
  text.remove_prefix(before.size());
  text.remove_suffix(1);
  return parse_number<std::size_t>(text);
}

std::optional<std::size_t> sequence_size(std::string_view text,
                                         std::vector<std::string_view>& values) {
  values.clear();
  const bool tuple = text.size() >= 2 && text.front() == '(' && text.back() == ')';
  const bool list = text.size() >= 2 && text.front() == '[' && text.back() == ']';
  const bool dict = text.size() >= 2 && text.front() == '{' && text.back() == '}';
  if (!tuple && !list && !dict) {
    return std::nullopt;
  }
  text.remove_prefix(1);
  text.remove_suffix(1);
  int depth = 0;
  bool quoted = false;
  std::size_t start = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      i += c == '\\' ? 1U : 0U;
      quoted = c != '\'';
      continue;
    }
    quoted = c == '\'';
    depth += c == '(' || c == '[' || c == '<' || c == '{' ? 1 : 0;
    depth -= c == ')' || c == ']' || c == '>' || c == '}' ? 1 : 0;
    if (c == ',' && depth == 0) {
      values.push_back(trim(text.substr(start, i - start)));
      start = i + 1;
    }
  }
  if (quoted || depth != 0) {
    return std::nullopt;
  }
  const std::string_view last = trim(text.substr(start));
  if (last.starts_with("... ") && last.ends_with(" items")) {
    return parse_number<std::size_t>(trim(last.substr(4, last.size() - 10)));
  }
  if (!last.empty()) {
    values.push_back(last);
  }
  return values.size();
}

std::vector<std::string_view> all_values(std::string_view text) {
  std::vector<std::string_view> values;
  const auto size = sequence_size(text, values);
  return size == values.size() ? values : std::vector<std::string_view>();
}

std::optional<std::string> default_group_evidence(const CallFrames& frames,
                                                  std::size_t index,
                                                  const PythonCall& call) {
  if (call.parameters.empty()) {
    return std::nullopt;
  }
  if (frames.local(index, "group") == "None") {
    return "group=None";
  }
  const auto default_group = frames.local(index, "default_pg");
  if (default_group && *default_group != "None" && *default_group != "<unreadable>") {
    return "which looks up the default group";
  }
  return wrapper_evidence(frames, index, call);
}

}  // namespace oddrank::collectives
