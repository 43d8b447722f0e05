#include "node/collect/collect_ras.h"

#include <ifaddrs.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>

#include "attach/proc_status.h"
#include "base/deadline.h"
#include "base/isolated.h"
#include "base/parse_number.h"
#include "base/split.h"
#include "collectives/nccl/ras_answer.h"
#include "collectives/nccl/ras_client.h"
#include "node/collect/ras_services.h"
#include "node/isolated_read.h"
#include "snapshot/carrier.h"

namespace oddrank::node {

using snapshot::RasCommunicator;
using snapshot::RasRank;

namespace {

using collectives::RasAnswer;
using collectives::RasGroup;
using collectives::RasMember;
using snapshot::Capture;
using snapshot::ProcessCapture;
using snapshot::RasCommunicator;
using snapshot::RasRank;
using std::chrono::milliseconds;

constexpr milliseconds kRasPatience{12000};  // the service itself gives up after ten seconds
constexpr int kMaxAnswers = 3;               // if two jobs share the port
// Every answer describes the whole job, so in a large job not every node queries.
constexpr std::int32_t kLargeJob = 512;
// 1000 * major + minor. Earlier versions crash the job if they are queried again and again.
constexpr int kMinSafeVersion = 2028;

// Returns the addresses of this machine, in our network namespace.
std::set<std::string> own_addresses() {
  std::set<std::string> addresses;
  ::ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) {
    return addresses;
  }
  for (const ::ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr) {
      continue;
    }
    std::array<char, INET6_ADDRSTRLEN> name{};
    const int family = one->ifa_addr->sa_family;
    const void* bytes =
        family == AF_INET ? static_cast<const void*>(
                                &reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr)
        : family == AF_INET6 ? static_cast<const void*>(
                                   &reinterpret_cast<const sockaddr_in6*>(one->ifa_addr)->sin6_addr)
                             : nullptr;
    if (bytes != nullptr && ::inet_ntop(family, bytes, name.data(), name.size()) != nullptr) {
      addresses.insert(name.data());
    }
  }
  ::freeifaddrs(all);
  return addresses;
}

bool is_large_and_not_asking(const Capture& capture) {
  std::int32_t world = -1;
  bool asks = false;
  for (const ProcessCapture& process : capture.processes) {
    world = std::max(world, process.world_size);
  }
  for (const ProcessCapture& process : capture.processes) {
    asks = asks ||
           (process.is_rank && process.rank >= 0 && process.rank % std::max(world / 4, 1) == 0);
  }
  return world > kLargeJob && !asks;
}

// Queries one service, in the child, until each of its ranks is in an answer.
class Questioner {
 public:
  Questioner(const RasService& service, Capture& answer);
  Status run();

 private:
  bool all_covered() const;
  Status ask_once(const Deadline& deadline);
  void add(const RasAnswer& answer, const RasGroup& group);

  const RasService& service_;
  Capture& answer_;
  std::map<pid_t, pid_t> by_reported_pid_;  // in its own namespace -> in ours
  std::set<std::string> own_;
  std::set<std::string> seen_;  // hashes
  std::set<pid_t> covered_;
};

Questioner::Questioner(const RasService& service, Capture& answer)
    : service_(service), answer_(answer) {
  for (const ProcessCapture* process : service.ranks) {
    const auto status = attach::read_proc_status(process->pid);
    if (status && !status->ns_pids.empty()) {
      const auto [at, fresh] = by_reported_pid_.emplace(status->ns_pids.back(), process->pid);
      at->second = fresh ? process->pid : 0;  // two containers: ambiguous
    }
  }
}

Status Questioner::run() {
  ODDRANK_TRY_STATUS(enter_network(service_));
  own_ = own_addresses();
  const Deadline deadline = Deadline::after(kRasPatience);
  Status last = ok();
  for (int i = 0; i < kMaxAnswers && !deadline.passed() && !all_covered(); ++i) {
    last = ask_once(deadline);
    if (!last) {
      break;
    }
  }
  return seen_.empty() ? last : ok();
}

bool Questioner::all_covered() const {
  return !seen_.empty() &&
         std::all_of(by_reported_pid_.begin(), by_reported_pid_.end(), [this](const auto& entry) {
           return entry.second == 0 || covered_.contains(entry.second);
         });
}

Status Questioner::ask_once(const Deadline& deadline) {
  ODDRANK_TRY(const collectives::RasReply reply, collectives::ask_ras(service_.address, deadline));
  auto read =
      reply.json ? collectives::read_ras_json(reply.text) : collectives::read_ras_text(reply.text);
  if (!read) {
    return fail(std::move(read).error().in("RAS at " + service_.address));
  }
  for (const RasGroup& group : read->groups) {
    if (seen_.insert(group.hash).second) {
      add(*read, group);
    }
  }
  if (read->groups.empty()) {
    seen_.insert("");
  }
  return ok();
}

void Questioner::add(const RasAnswer& answer, const RasGroup& group) {
  RasCommunicator communicator = communicator_row(answer, group, answer_.tables);
  for (const RasMember& member : group.members) {
    RasRank row = member_row(member);
    row.host = answer_.tables.string(member.host);
    row.reported_pid = member.pid;
    const auto process = by_reported_pid_.find(member.pid);
    if (own_.contains(member.host) && process != by_reported_pid_.end()) {
      row.pid = process->second;
      covered_.insert(process->second);
    }
    const bool seen_here = row.pid != 0 || member.rank < 0;
    if (seen_here || member.presence != snapshot::RasPresence::kAnswered ||
        member.async_error != 0) {
      communicator.ranks.push_back(row);
    }
  }
  answer_.collectives.ras.push_back(std::move(communicator));
}

Capture ask_all(const Capture& capture) {
  Capture answer;
  answer.nodes.emplace_back();
  for (const RasService& service : find_ras_services(capture)) {
    if (const Status asked = Questioner(service, answer).run(); !asked) {
      answer.nodes.front().notes.push_back(asked.error().what);
    }
  }
  return answer;
}

std::optional<Capture> ask_in_child(Capture& capture, milliseconds timeout) {
  if (is_large_and_not_asking(capture)) {
    return std::nullopt;
  }
  const milliseconds patience = std::min(timeout, kRasPatience + milliseconds(2000));
  const IsolatedTask task{
      [&capture](int fd) { send_capture(fd, ask_all(capture)); }, patience, {.sockets = true}};
  auto answer = received_capture(run_isolated({task}, 1).front());
  if (!answer) {
    capture.nodes.front().notes.push_back("RAS: " + answer.error().what);
    return std::nullopt;
  }
  return std::move(*answer);
}

// Returns 2028 for "2.28.9"; 0 if it cannot be read.
int version_number(std::string_view version) {
  const auto parts = split(version, '.');
  const auto major = parts.size() < 2 ? std::nullopt : parse_number<int>(parts[0]);
  const auto minor = parts.size() < 2 ? std::nullopt : parse_number<int>(parts[1]);
  return major && minor && *major < 100 && *minor < 1000 ? *major * 1000 + *minor : 0;
}

// Adds the counts of a later answer to the rows of the first, rank by rank.
void add_later_answer(RasCommunicator& communicator, const RasCommunicator& later) {
  for (RasRank& rank : communicator.ranks) {
    const auto at =
        std::find_if(later.ranks.begin(), later.ranks.end(), [&rank](const RasRank& one) {
          return one.rank == rank.rank && one.reported_pid == rank.reported_pid;
        });
    if (at != later.ranks.end()) {
      rank.later = at->counts;
    }
  }
}

}  // namespace

void collect_ras(Capture& capture, milliseconds timeout) {
  const auto answer = ask_in_child(capture, timeout);
  if (!answer) {
    return;
  }
  carry_communicators(*answer, capture);
  auto& notes = capture.nodes.front().notes;
  notes.insert(notes.end(), answer->nodes.front().notes.begin(), answer->nodes.front().notes.end());
}

void collect_ras_again(Capture& capture, milliseconds timeout) {
  bool answered = false;
  bool safe = true;
  for (const RasCommunicator& one : capture.collectives.ras) {
    answered = answered || !snapshot::is_from_memory(one);
    safe = safe && version_number(capture.tables.text(one.version)) >= kMinSafeVersion;
  }
  const auto answer = answered && safe ? ask_in_child(capture, timeout) : std::nullopt;
  if (!answer) {
    return;
  }
  snapshot::Carrier carrier(answer->tables, capture.tables);
  for (const RasCommunicator& later : answer->collectives.ras) {
    const RasCommunicator carried = carrier.row(later);
    for (RasCommunicator& communicator : capture.collectives.ras) {
      if (communicator.hash == carried.hash && !snapshot::is_from_memory(communicator)) {
        add_later_answer(communicator, carried);
      }
    }
  }
}

RasCommunicator communicator_row(const collectives::RasAnswer& answer,
                                 const collectives::RasGroup& group,
                                 snapshot::Tables& tables) {
  RasCommunicator row;
  row.hash = tables.string(group.hash);
  row.version = tables.string(answer.version);
  row.size = group.size;
  return row;
}

RasRank member_row(const collectives::RasMember& member) {
  RasRank row;
  row.rank = member.rank;
  row.device = member.device;
  row.presence = member.presence;
  row.init_state = member.init_state;
  row.async_error = member.async_error;
  row.leaving = member.leaving;
  row.counts = member.counts;
  return row;
}

void carry_communicators(const snapshot::Capture& from, snapshot::Capture& into) {
  snapshot::Carrier carrier(from.tables, into.tables);
  for (const RasCommunicator& communicator : from.collectives.ras) {
    into.collectives.ras.push_back(carrier.row(communicator));
  }
}

}  // namespace oddrank::node
