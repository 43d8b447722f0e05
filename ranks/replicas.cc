#include "ranks/replicas.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/base_name.h"
#include "ranks/rank_choice.h"
#include "ranks/rank_identity.h"
#include "snapshot/connection.h"
#include "snapshot/jobs/jobs.h"

namespace oddrank::ranks {
namespace {

using snapshot::port_part;

// Returns "n0:29510" of "http://n0:29510".
std::string_view address_of(const RankTable& table, std::size_t i) {
  std::string_view url = table.facts[i].environment.get("TORCHFT_LIGHTHOUSE");
  const std::size_t slashes = url.find("//");
  url.remove_prefix(slashes == url.npos ? 0 : slashes + 2);
  return url.substr(0, url.find('/'));
}

// Returns whether the process, which has no number, may be a replica: it has a library of
// collectives and the address of a lighthouse.
bool may_be_replica(const RankTable& table, std::size_t i) {
  const ProcessFacts& facts = table.facts[i];
  return facts.asked && facts.loaded && !address_of(table, i).empty() &&
         !is_lighthouse(facts.arguments) && table.tree[i].role == ProcessRole::kProgram &&
         !table.is_excluded(i) && matches(facts, table.options);
}

void make_replica(const RankTable& table, RankRow& row) {
  row.rank = 0;
  row.world_size = 1;
  row.job = "pid " + std::to_string(table.stat(row.process).pid);
  const uid_t user = table.facts[row.process].user;
  if (user != table.options.slurm_user.value_or(table.options.reader)) {
    row.job += std::string(snapshot::kOfUser) + std::to_string(user);
  }
}

void add_unnumbered(RankTable& table) {
  for (std::size_t i = 0; i < table.tree.size(); ++i) {
    const std::size_t above = table.tree.ancestor(i, [&table](std::size_t at) {
      return table.row_of[at] != kNoProcess || may_be_replica(table, at);
    });
    if (above == kNoProcess && table.row_of[i] == kNoProcess && may_be_replica(table, i)) {
      make_replica(table, table.add_row(i, true, table.stat(i).pid));
    }
  }
}

// Returns the job of all processes that meet at the address. A machine's own address (loopback)
// means another place in each network.
std::string job_at(const RankTable& table, const RankRow& row, bool of_networks) {
  std::string job = "torchft " + std::string(address_of(table, row.process));
  if (of_networks) {
    job += " in network " + std::to_string(table.facts[row.process].network);
  }
  const std::string_view user = snapshot::user_in_key(row.job);
  return user.empty() ? job : job + std::string(snapshot::kOfUser) + std::string(user);
}

// Returns the port that it listens at: of "--bind [::]:29510", which is the default of torchft.
std::string_view port_of_lighthouse(const ProcessFacts& facts) {
  constexpr std::string_view kBind = "--bind";
  const auto& words = facts.arguments;
  for (std::size_t at = 0; at < words.size(); ++at) {
    const std::string_view word = words[at];
    if (word == kBind && at + 1 < words.size()) {
      return port_part(words[at + 1]);
    }
    if (word.starts_with(kBind) && word.substr(kBind.size()).starts_with('=')) {
      return port_part(word);
    }
  }
  return "29510";
}

void add_lighthouses(RankTable& table) {
  for (std::size_t i = 0; i < table.tree.size(); ++i) {
    const ProcessFacts& facts = table.facts[i];
    if (table.row_of[i] != kNoProcess || !is_lighthouse(facts.arguments) || table.is_excluded(i) ||
        table.tree[i].role != ProcessRole::kProgram) {
      continue;
    }
    const auto of_it = [&](const RankRow& row) {
      return !row.replica.empty() && table.facts[row.process].network == facts.network &&
             port_part(address_of(table, row.process)) == port_of_lighthouse(facts);
    };
    const auto found = std::ranges::find_if(table.rows, of_it);
    if (found != table.rows.end()) {
      const std::string job = found->job;
      table.add_row(i, true, table.stat(i).pid).job = job;
    }
  }
}

}  // namespace

bool is_lighthouse(std::span<const std::string> arguments) {
  constexpr std::string_view kProgram = "torchft_lighthouse";
  return base_name(script_of(arguments)) == kProgram ||
         (!arguments.empty() && base_name(arguments.front()) == kProgram);
}

void join_replicas(RankTable& table) {
  if (table.options.pids.empty()) {
    add_unnumbered(table);
  }
  std::map<std::string_view, std::set<std::uint64_t>> networks;  // of each address
  for (RankRow& row : table.rows) {
    if (row.is_rank && row.rank < 0 && may_be_replica(table, row.process)) {
      make_replica(table, row);
    }
    networks[address_of(table, row.process)].insert(table.facts[row.process].network);
  }
  for (RankRow& row : table.rows) {
    const std::string_view address = address_of(table, row.process);
    if (row.is_rank && row.rank >= 0 && !address.empty()) {
      const bool of_networks = is_own_address(address) && networks[address].size() > 1;
      row.replica = std::exchange(row.job, job_at(table, row, of_networks));
    }
  }
  if (table.options.pids.empty()) {
    add_lighthouses(table);
  }
}

}  // namespace oddrank::ranks
