#include "tests/support/nccl_network.h"

#include <algorithm>
#include <numeric>

#include "tests/support/hung_jobs.h"

namespace oddrank::tests {
namespace {

constexpr int kSocketSteps = 4;  // that fit into the kernel's buffers
constexpr std::int64_t kBase = 640;

}  // namespace

NcclNetwork::NcclNetwork(const NetworkPlan& plan, std::uint32_t seed) : plan_(plan), random_(seed) {
  for (int channel = 0; channel < plan.channels; ++channel) {
    switch (plan.scheme) {
      case Scheme::kRing:
        make_ring(channel, true);
        break;
      case Scheme::kChain:
        make_ring(channel, false);
        break;
      case Scheme::kTree:
        make_tree(channel);
        break;
      case Scheme::kSends:
        make_sends(channel);
        break;
    }
  }
}

void NcclNetwork::connect(std::int32_t from, std::int32_t to, int channel) {
  Wire wire;
  wire.from = from;
  wire.to = to;
  wire.channel = channel;
  wire.net = host_of(from) != host_of(to);
  wires_.push_back(wire);
}

std::size_t NcclNetwork::wire(std::int32_t from, std::int32_t to, int channel) const {
  const auto at = std::find_if(wires_.begin(), wires_.end(), [&](const Wire& wire) {
    return wire.from == from && wire.to == to && wire.channel == channel;
  });
  return static_cast<std::size_t>(at - wires_.begin());
}

// The ranks of a ring: hosts one after the other, each channel with another GPU first.
std::vector<std::int32_t> NcclNetwork::order(int channel) const {
  std::vector<std::int32_t> ranks;
  for (int host = 0; host < plan_.hosts; ++host) {
    for (int gpu = 0; gpu < plan_.per_host; ++gpu) {
      ranks.push_back(host * plan_.per_host + (gpu + channel) % plan_.per_host);
    }
  }
  return ranks;
}

void NcclNetwork::make_ring(int channel, bool closed) {
  const std::vector<std::int32_t> ranks = order(channel);
  const std::size_t size = ranks.size();
  const std::size_t links = closed ? size : size - 1;
  for (std::size_t at = 0; at < links; ++at) {
    connect(ranks[at], ranks[(at + 1) % size], channel);
  }
  for (std::size_t at = 0; at < links; ++at) {
    if (!closed && at == 0) {
      continue;
    }
    const std::size_t in = wire(ranks[(at + size - 1) % size], ranks[at], channel);
    const std::size_t out = wire(ranks[at], ranks[(at + 1) % size], channel);
    wires_[out].needs = {in};
    wires_[out].needs_before = closed;
    wires_[in].feeds = {out};
  }
}

// A tree of hosts; within each, a chain of GPUs up to the first.
void NcclNetwork::make_tree(int channel) {
  const auto parent = [this, channel](std::int32_t rank) {
    const std::int32_t gpu = rank % plan_.per_host;
    if (gpu > 0) {
      return rank - 1;
    }
    const int host = (host_of(rank) + channel) % plan_.hosts;
    return host == 0 ? -1
                     : ((host - 1) / 2 + plan_.hosts - channel % plan_.hosts) % plan_.hosts *
                           plan_.per_host;
  };
  for (std::int32_t rank = 0; rank < plan_.ranks(); ++rank) {
    if (parent(rank) >= 0) {
      connect(rank, parent(rank), channel);
      connect(parent(rank), rank, channel);
    }
  }
  for (std::int32_t rank = 0; rank < plan_.ranks(); ++rank) {
    std::vector<std::size_t> up_in;
    std::vector<std::size_t> down_out;
    for (std::int32_t child = 0; child < plan_.ranks(); ++child) {
      if (parent(child) == rank) {
        up_in.push_back(wire(child, rank, channel));
        down_out.push_back(wire(rank, child, channel));
      }
    }
    const bool root = parent(rank) < 0;
    if (!root) {
      const std::size_t up = wire(rank, parent(rank), channel);
      const std::size_t down = wire(parent(rank), rank, channel);
      wires_[up].needs = up_in;
      for (const std::size_t in : up_in) {
        wires_[in].feeds = {up};
      }
      for (const std::size_t out : down_out) {
        wires_[out].needs = {down};
      }
      wires_[down].feeds = down_out;
      continue;
    }
    for (const std::size_t out : down_out) {
      wires_[out].needs = up_in;
    }
    for (const std::size_t in : up_in) {
      wires_[in].feeds = down_out;
    }
  }
}

void NcclNetwork::make_sends(int channel) {
  for (std::int32_t from = 0; from < plan_.ranks(); ++from) {
    for (std::int32_t to = 0; to < plan_.ranks(); ++to) {
      if (from != to && (from + to + channel) % 2 == 0) {
        connect(from, to, channel);
      }
    }
  }
}

bool NcclNetwork::can_fill(const Wire& wire) const {
  if (stopped_.contains(wire.from) || wire.filled >= wire.sent_posted) {
    return false;
  }
  return std::all_of(wire.needs.begin(), wire.needs.end(), [&](std::size_t in) {
    const int needed = wire.filled + (wire.needs_before ? 0 : 1);
    return wires_[in].arrived >= needed;
  });
}

// A step is taken together with what it is made into.
bool NcclNetwork::can_take(const Wire& wire) const {
  if (stopped_.contains(wire.to) || wire.taken >= wire.arrived) {
    return false;
  }
  return std::all_of(wire.feeds.begin(), wire.feeds.end(), [&](std::size_t out) {
    const Wire& next = wires_[out];
    const int made = wire.taken + (next.needs_before ? 2 : 1);
    return next.filled >= std::min(made, plan_.steps);
  });
}

bool NcclNetwork::turn(Wire& wire) {
  if (wire.filled < plan_.steps && can_fill(wire)) {
    ++wire.filled;
    return true;
  }
  if (can_take(wire)) {
    ++wire.taken;
    return true;
  }
  if (wire.sent_posted < plan_.steps && wire.sent_posted < wire.sent_done + plan_.window) {
    ++wire.sent_posted;
    return true;
  }
  if (!wire.net) {
    if (wire.arrived < wire.filled) {
      wire.arrived = wire.filled;
      return true;
    }
    if (wire.sent_done < wire.taken) {
      wire.sent_done = wire.taken;
      return true;
    }
    return false;
  }
  if (wire.received_posted < plan_.steps && wire.received_posted < wire.taken + plan_.window) {
    ++wire.received_posted;
    return true;
  }
  if (wire.permitted < wire.received_posted && !is_cut(wire.to, wire.from)) {
    wire.permitted = wire.received_posted;
    return true;
  }
  const int may_send = plan_.sockets ? plan_.steps : wire.permitted;
  if (wire.passed < wire.filled && wire.passed < may_send) {
    ++wire.passed;
    return true;
  }
  if (wire.arrived < wire.passed && wire.arrived < wire.received_posted &&
      !is_cut(wire.from, wire.to)) {
    ++wire.arrived;
    return true;
  }
  const int received = plan_.low_latency && !plan_.sockets ? wire.received_posted : wire.arrived;
  if (wire.received < received) {
    wire.received = received;
    return true;
  }
  const int done = plan_.sockets                ? std::min(wire.passed, wire.arrived + kSocketSteps)
                   : is_cut(wire.to, wire.from) ? wire.sent_done
                                                : wire.arrived;
  if (wire.sent_done < done) {
    wire.sent_done = done;
    return true;
  }
  return false;
}

bool NcclNetwork::run(int turns) {
  std::vector<std::size_t> all(wires_.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  for (int at = 0; at < turns; ++at) {
    std::shuffle(all.begin(), all.end(), random_);
    const bool any =
        std::any_of(all.begin(), all.end(), [this](std::size_t one) { return turn(wires_[one]); });
    if (!any) {
      return false;
    }
  }
  return true;
}

bool NcclNetwork::is_done() const {
  return std::all_of(wires_.begin(), wires_.end(),
                     [this](const Wire& wire) { return wire.taken == plan_.steps; });
}

void NcclNetwork::describe(CaptureBuilder& job) const {
  auto& tables = job.capture.tables;
  for (const Wire& wire : wires_) {
    if (!wire.net) {
      continue;
    }
    snapshot::ProxyTransfer row;
    row.group = tables.string("0x4f");
    row.size = plan_.ranks();
    row.index = plan_.scheme == Scheme::kSends ? 1 : 0;
    row.channels = row.still = std::uint64_t{1} << static_cast<unsigned>(wire.channel);
    row.end = kBase + plan_.steps;
    row.network = tables.string(plan_.sockets ? "Socket" : "IB");
    row.device = tables.string(plan_.sockets ? "eth0" : "mlx5_0");
    row.rank = wire.from;
    row.peer = wire.to;
    row.sends = true;
    row.posted = kBase + wire.sent_posted;
    row.passed = kBase + wire.passed;
    row.done = kBase + wire.sent_done;
    if (wire.sent_done < plan_.steps) {
      const std::int32_t last = (host_of(wire.from) + 1) * plan_.per_host - 1;
      job.process(pid_of(plan_.pxn ? last : wire.from)).proxies.push_back(row);
    }
    std::swap(row.rank, row.peer);
    row.sends = false;
    row.early = plan_.low_latency;
    row.posted = kBase + wire.received_posted;
    row.passed = kBase + wire.received;
    row.done = kBase + wire.taken;
    if (wire.taken < plan_.steps) {
      job.process(pid_of(wire.to)).proxies.push_back(row);
    }
  }
}

}  // namespace oddrank::tests
