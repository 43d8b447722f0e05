#include "tests/support/collnet_network.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "tests/support/hung_jobs.h"

namespace oddrank::tests {
namespace {

constexpr std::int64_t kCallBase = 640;

}  // namespace

CollnetNetwork::CollnetNetwork(const CollnetPlan& plan, std::uint32_t seed)
    : plan_(plan), random_(seed) {
  const std::vector<int> none(static_cast<std::size_t>(plan.per_host), 0);
  for (int host = 0; host < plan.hosts; ++host) {
    for (int rail = 0; rail < plan.rails; ++rail) {
      for (int channel = 0; channel < plan.channels; ++channel) {
        Head head;
        head.host = host;
        head.rail = rail;
        head.channel = channel;
        head.scattered = head.gathered = none;
        heads_.push_back(head);
      }
    }
  }
}

// A GPU scatters a step to its rails in order, and gathers likewise.
bool CollnetNetwork::turn_gpu(Head& head, int gpu) {
  const auto index = static_cast<std::size_t>(gpu);
  if (stopped_.contains(head.host * plan_.per_host + gpu)) {
    return false;
  }
  const auto in_order = [&](std::vector<int> Head::*counts) {
    const int done = (head.*counts).at(index);
    for (int rail = 0; rail < plan_.rails; ++rail) {
      const int other = (at(head.host, rail, head.channel).*counts).at(index);
      if (rail < head.rail ? other <= done : other < done) {
        return false;
      }
    }
    return true;
  };
  int& scattered = head.scattered.at(index);
  if (scattered < plan_.steps && scattered < head.filled + plan_.window &&
      in_order(&Head::scattered)) {
    ++scattered;
    return true;
  }
  int& gathered = head.gathered.at(index);
  if (gathered < head.taken && in_order(&Head::gathered)) {
    ++gathered;
    return true;
  }
  return false;
}

bool CollnetNetwork::can_give(const Head& head) const {
  if (head.given >= head.filled || head.given >= head.offered ||
      refused_.contains({head.host, head.rail})) {
    return false;
  }
  for (int channel = 0; channel < plan_.channels; ++channel) {
    const int other = at(head.host, head.rail, channel).given;
    if (channel < head.channel ? other <= head.given : other < head.given) {
      return false;
    }
  }
  return true;
}

bool CollnetNetwork::has_returned(const Head& head) const {
  if (stopped_rails_.contains(head.rail) || cut_.contains({head.host, head.rail})) {
    return false;
  }
  for (int host = 0; host < plan_.hosts; ++host) {
    if (at(host, head.rail, head.channel).given <= head.returned) {
      return false;
    }
  }
  return true;
}

bool CollnetNetwork::turn_network(Head& head) {
  if (head.posted < plan_.steps && head.posted < head.returned + plan_.window) {
    ++head.posted;
    return true;
  }
  if (head.offered < plan_.steps && head.offered < head.taken + plan_.window) {
    ++head.offered;
    return true;
  }
  if (can_give(head)) {
    ++head.given;
    return true;
  }
  if (head.returned < head.given && has_returned(head)) {
    ++head.returned;
    return true;
  }
  return false;
}

bool CollnetNetwork::turn(Head& head) {
  for (int gpu = 0; gpu < plan_.per_host; ++gpu) {
    if (turn_gpu(head, gpu)) {
      return true;
    }
  }
  if (!stopped_.contains(head_of(head.host, head.rail))) {
    if (head.filled<head.posted&& * std::min_element(head.scattered.begin(), head.scattered.end())>
            head.filled) {
      ++head.filled;
      return true;
    }
    if (head.taken<head.returned&& * std::min_element(head.gathered.begin(), head.gathered.end()) +
                   plan_.window> head.taken) {
      ++head.taken;
      return true;
    }
  }
  return turn_network(head);
}

bool CollnetNetwork::run(int turns) {
  std::vector<std::size_t> all(heads_.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  for (int at = 0; at < turns; ++at) {
    std::shuffle(all.begin(), all.end(), random_);
    const bool any =
        std::any_of(all.begin(), all.end(), [this](std::size_t one) { return turn(heads_[one]); });
    if (!any) {
      return false;
    }
  }
  return true;
}

bool CollnetNetwork::is_done() const {
  return std::all_of(heads_.begin(), heads_.end(), [this](const Head& head) {
    return *std::min_element(head.gathered.begin(), head.gathered.end()) == plan_.steps;
  });
}

int CollnetNetwork::limit(const Head& head, int Head::*count) const {
  int least = head.*count;
  bool later_lags = false;
  for (int channel = 0; channel < plan_.channels; ++channel) {
    const int other = at(head.host, head.rail, channel).*count;
    if (channel <= head.channel) {
      least = std::min(least, other);
    } else {
      later_lags = later_lags || other < head.given;
    }
  }
  return later_lags ? std::min(least, head.given) : least;
}

void CollnetNetwork::describe(CaptureBuilder& job) const {
  auto& tables = job.capture.tables;
  for (const Head& head : heads_) {
    bool is_done = true;  // an operation is there until all of its channels are done
    for (int channel = 0; channel < plan_.channels; ++channel) {
      is_done = is_done && at(head.host, head.rail, channel).taken == plan_.steps;
    }
    if (is_done) {
      continue;
    }
    snapshot::CollnetHead row;
    row.rail = tables.string("0x7c/" + std::to_string(head.rail));
    row.group = tables.string("0x4f");
    row.size = plan_.ranks();
    row.head = head.host;
    row.heads = plan_.hosts;
    row.channels = row.still = std::uint64_t{1} << static_cast<unsigned>(head.channel);
    row.filled = kCallBase + limit(head, &Head::filled);
    row.offered = kCallBase + limit(head, &Head::offered);
    row.given = kCallBase + head.given;
    row.returned = kCallBase + head.returned;
    row.taken = kCallBase + head.taken;
    row.end = kCallBase + plan_.steps;
    row.device = tables.string("SHARP " + std::to_string(head.rail));
    job.process(pid_of(head_of(head.host, head.rail))).heads.push_back(row);
  }
}

}  // namespace oddrank::tests
