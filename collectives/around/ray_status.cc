// The texts, as Ray writes them (autoscaler/_private/util.py, raylet/worker_pool.cc):
//
//   ======== Autoscaler status: 2026-11-29 10:31:44.926865 ========
//   ...
//   Total Usage:
//    1.0/4.0 CPU (1.0 used of 2.0 reserved in placement groups)
//    0B/21.89GiB memory
//   ...
//   Pending Demands:
//    {'CPU': 4.0}: 2+ pending tasks/actors
//    {'GPU': 4.0} * 2, {'CPU': 1.0} * 1 (PACK): 1+ pending placement groups
//
//   Resource usage {
//       - (language=PYTHON actor_or_taskTrainer.__init__ pid=71 worker_id=3f2a...): {CPU: 1}
//   }
#include "collectives/around/ray_status.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <utility>

#include "base/parse_number.h"
#include "base/split.h"

namespace oddrank::collectives {
namespace {

using snapshot::ResourceRequest;
using Amounts = std::map<std::string, std::int64_t, std::less<>>;  // in thousandths

constexpr std::string_view kStatusMark = "Autoscaler status: ";
constexpr std::string_view kPendingMark = "+ pending ";
constexpr std::size_t kMaxShape = 200;
constexpr std::int64_t kMaxAmount = 1'000'000'000;  // of a resource but memory
constexpr std::int64_t kMaxBundles = 100'000;       // that are alike
constexpr std::size_t kMaxResources = 256;          // of a cluster

// Returns 1500 for "1.5"; -1 for what is no such number.
std::int64_t thousandths(std::string_view number) {
  std::string decimals("000");
  const auto whole = parse_number<std::int64_t>(take_piece(number, '.')).value_or(-1);
  decimals.replace(0, std::min<std::size_t>(number.size(), 3), number.substr(0, 3));
  const auto rest = parse_number<std::int64_t>(decimals).value_or(-1);
  return whole >= 0 && whole < kMaxAmount && rest >= 0 ? whole * 1000 + rest : -1;
}

// Returns the time of a status in ms; "2026-11-29 10:31:44.926865".
std::optional<std::int64_t> time_in(std::string_view line) {
  const auto at = line.find(kStatusMark);
  const std::string_view text =
      at == std::string_view::npos ? std::string_view() : line.substr(at + kStatusMark.size());
  if (text.size() < 19) {
    return std::nullopt;
  }
  const auto number = [&text](std::size_t from, std::size_t size) {
    return parse_number<unsigned>(text.substr(from, size)).value_or(9999);
  };
  const std::chrono::year_month_day day{std::chrono::year(static_cast<int>(number(0, 4))),
                                        std::chrono::month(number(5, 2)),
                                        std::chrono::day(number(8, 2))};
  const unsigned seconds = (number(11, 2) * 60 + number(14, 2)) * 60 + number(17, 2);
  if (!day.ok() || seconds > 24 * 3600) {
    return std::nullopt;
  }
  const auto since_epoch = std::chrono::sys_days(day).time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(since_epoch).count() +
         std::int64_t{seconds} * 1000;
}

// Returns the sum of "{'GPU': 4.0, 'CPU': 1.0} * 2, {'CPU': 1.0} * 1 (PACK)".
Amounts asked_by(std::string_view shape) {
  Amounts asked;
  while (!shape.empty()) {
    take_piece(shape, '{');
    std::string_view bundle = take_piece(shape, '}');
    std::int64_t times = 1;
    if (shape.starts_with(" * ")) {
      const std::string_view number = shape.substr(3, shape.find_first_of(" ,:", 3) - 3);
      times =
          std::clamp(parse_number<std::int64_t>(number).value_or(1), std::int64_t{1}, kMaxBundles);
    }
    while (!bundle.empty()) {
      std::string_view amount = take_piece(bundle, ',');
      const std::string_view name = trim(take_piece(amount, ':'));
      const std::int64_t number = thousandths(trim(amount));
      if (name.size() > 2 && number > 0) {
        asked[std::string(name.substr(1, name.size() - 2))] += number * times;
      }
    }
  }
  return asked;
}

struct Status {
  std::int64_t time_ms = 0;
  std::map<std::string, std::pair<std::int64_t, std::int64_t>, std::less<>> usage;  // used, all
  std::vector<std::pair<std::string, bool>> pending;  // shape, and whether it is a group
};

void add_line(std::string_view line, Status& status) {
  const auto mark = line.find(kPendingMark);
  const auto colon = mark == std::string_view::npos ? mark : line.rfind(": ", mark);
  if (line.starts_with(" {") && colon != std::string_view::npos) {
    if (status.pending.size() < kMaxRequests) {
      status.pending.emplace_back(trim(line.substr(0, colon)).substr(0, kMaxShape),
                                  line.find("placement group", mark) != std::string_view::npos);
    }
    return;
  }
  const std::vector<std::string_view> words = split_blanks(line.substr(0, kMaxShape));
  if (words.size() >= 2 && line.starts_with(' ')) {
    std::string_view all = words[0];
    const std::int64_t used = thousandths(take_piece(all, '/'));
    if (const std::int64_t total = thousandths(all);
        used >= 0 && total >= 0 && status.usage.size() < kMaxResources) {
      status.usage[std::string(words[1])] = {used, total};
    }
  }
}

void note_lack(const Status& status, ResourceRequest& request, snapshot::Tables& tables) {
  for (const auto& [name, asked] : asked_by(tables.text(request.shape))) {
    // Memory is counted in another unit there.
    if (name == "memory" || name == "object_store_memory") {
      continue;
    }
    const auto at = status.usage.find(name);
    const auto [used, total] =
        at == status.usage.end() ? std::pair<std::int64_t, std::int64_t>() : at->second;
    const std::int64_t free = std::max<std::int64_t>(0, total - used);
    if (asked > free && (request.lacks == snapshot::StringId{} || asked > total)) {
      request.lacks = tables.string(name);
      request.asked = asked;
      request.free = free;
      request.total = total;
    }
  }
}

}  // namespace

std::vector<ResourceRequest> read_requests(std::string_view log, snapshot::Tables& tables) {
  Status status;
  std::map<std::string, std::int64_t> since;  // shape -> the first status that has it
  const auto end_status = [&] {
    std::map<std::string, std::int64_t> still;
    for (const auto& [shape, is_group] : status.pending) {
      const auto at = since.find(shape);
      still.emplace(shape, at == since.end() ? status.time_ms : at->second);
    }
    since = std::move(still);
  };
  while (!log.empty()) {
    const std::string_view line = take_piece(log, '\n');
    if (const auto time = time_in(line)) {
      end_status();
      status = {};
      status.time_ms = *time;
    } else if (status.time_ms != 0) {
      add_line(line, status);
    }
  }
  end_status();
  std::vector<ResourceRequest> requests;
  for (const auto& [shape, is_group] : status.pending) {
    ResourceRequest& request = requests.emplace_back();
    request.is_group = is_group;
    request.shape = tables.string(shape);
    request.pending_ms = std::max<std::int64_t>(0, status.time_ms - since[shape]);
    note_lack(status, request, tables);
  }
  return requests;
}

std::vector<ResourceHold> read_holds(std::string_view node_state) {
  std::vector<ResourceHold> holds;
  bool inside = false;
  while (!node_state.empty() && holds.size() < kMaxHolds) {
    const std::string_view line = trim(take_piece(node_state, '\n'));
    if (!inside || line == "}") {
      if (inside) {
        break;
      }
      inside = line == "Resource usage {";
      continue;
    }
    constexpr std::string_view kName = "actor_or_task";
    const auto name = line.find(kName);
    const auto pid = line.find(" pid=", name);
    const auto what = line.find("): {", pid);
    if (name == std::string_view::npos || pid == std::string_view::npos ||
        what == std::string_view::npos) {
      continue;
    }
    const std::string_view of = line.substr(name + kName.size(), pid - name - kName.size());
    const std::string_view number = line.substr(pid + 5);
    const auto holder = parse_number<pid_t>(number.substr(0, number.find(' ')));
    if (!holder) {
      continue;
    }
    holds.push_back({*holder,
                     std::string(of.substr(of.starts_with('=') ? 1 : 0).substr(0, kMaxShape)),
                     std::string(line.substr(what + 4, line.rfind('}') - what - 4))});
  }
  return holds;
}

bool has_some_of(const ResourceHold& hold, std::string_view resource) {
  std::string_view rest = hold.what;
  while (!rest.empty()) {
    std::string_view one = take_piece(rest, ',');
    const std::string_view name = trim(take_piece(one, ':'));
    const bool within =
        name.starts_with(resource) &&
        (name.size() == resource.size() || name.substr(resource.size()).starts_with("_group_"));
    if (within && thousandths(trim(one)) != 0) {
      return true;
    }
  }
  return false;
}

}  // namespace oddrank::collectives
