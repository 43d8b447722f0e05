// A node's processes as a test writes them down, and the variables of launchers.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/split.h"
#include "ranks/rank_tree.h"

namespace oddrank::test {

using attach::Environment;
using ranks::Activity;
using ranks::decide_ranks;
using ranks::DiscoverOptions;
using ranks::FactsRead;
using ranks::ProcessFacts;
using ranks::RankDecision;
using ranks::RankRow;
using ranks::ReportedWorld;

// A node's processes, written down line by line. They start in the order of the lines, unless a
// test says otherwise.
class Node {
 public:
  Node& add(pid_t pid,
            pid_t parent,
            const std::string& command,
            const std::string& variables = "") {
    ProcessFacts facts;
    facts.stat.pid = pid;
    facts.stat.parent = parent;
    facts.stat.group = pid;
    facts.stat.state = 'S';
    facts.stat.start_us = 1000000 * (facts_.size() + 1);
    facts.stat.threads = 1;
    facts.read = FactsRead::kRead;
    for (const auto word : split_blanks(command)) {
      facts.arguments.emplace_back(word);
    }
    const std::string program = facts.arguments.empty() ? "" : facts.arguments[0];
    facts.stat.name = program.substr(program.rfind('/') + 1).substr(0, 15);
    std::vector<Environment::Entry> entries;
    for (const auto word : split_blanks(variables)) {
      const auto equals = word.find('=');
      entries.emplace_back(word.substr(0, equals), word.substr(equals + 1));
    }
    facts.environment = Environment(std::move(entries));
    facts_.push_back(std::move(facts));
    return *this;
  }
  // Marks the last process as ended.
  Node& zombie() {
    facts_.back().stat.state = 'Z';
    return silent(FactsRead::kNone);
  }
  // Marks the last process as unreadable.
  Node& silent(FactsRead read) {
    facts_.back().read = read;
    facts_.back().arguments.clear();
    facts_.back().environment = Environment();
    return *this;
  }
  // Marks the last process as forked: it runs the program of its parent.
  Node& forked() {
    facts_.back().stat.forked = true;
    return *this;
  }
  // Sets what the last process does, and whether it has a communication library.
  Node& does(Activity activity, bool communicates = false) {
    facts_.back().activity_read = true;
    facts_.back().activity = {activity, communicates};
    return *this;
  }
  // Returns the pids whose activity is wanted first.
  std::string wanted() const {
    std::string text;
    for (const std::size_t i : ranks::conducts_to_read(facts_, {})) {
      text += (text.empty() ? "" : " ") + std::to_string(facts_[i].stat.pid);
    }
    return text;
  }
  // Makes the last process one that has a communication library and no variables.
  Node& loaded() {
    facts_.back().loaded = true;
    return *this;
  }
  // Makes the last process one that was asked, and said this.
  Node& says(const ReportedWorld& told) {
    facts_.back().asked = true;
    facts_.back().reported = told;
    return loaded();
  }
  // Makes the last process a driver of the session of Ray.
  Node& drives(const std::string& session) {
    facts_.back().ray_session = session;
    return *this;
  }
  // Sets whether the last process has a communication library.
  Node& communicates(bool yes) {
    facts_.back().loaded = yes;
    return *this;
  }
  // Returns the pids that are to be asked next.
  std::string to_ask() const {
    DiscoverOptions options;
    options.ask = [](pid_t) { return ranks::SelfReport(); };
    std::string text;
    for (const std::size_t i : ranks::processes_to_ask(facts_, options)) {
      text += (text.empty() ? "" : " ") + std::to_string(facts_[i].stat.pid);
    }
    return text;
  }
  // Puts the last process into a network namespace.
  Node& network(std::uint64_t inode) {
    facts_.back().network = inode;
    return *this;
  }
  Node& user(uid_t number) {
    facts_.back().user = number;
    return *this;
  }
  // Says that the kernel or slurmstepd has told its SLURM job.
  Node& proven() {
    facts_.back().step_proven = true;
    return *this;
  }
  Node& started(std::uint64_t start_us) {
    facts_.back().stat.start_us = start_us;
    return *this;
  }
  Node& group(pid_t pid) {
    facts_.back().stat.group = pid;
    return *this;
  }

  const std::vector<ProcessFacts>& facts() const { return facts_; }
  RankDecision decide(const DiscoverOptions& options = {}) const {
    return decide_ranks(facts_, options);
  }

  // Returns "0:100[101,102] 1:110": rank, its pid, and the processes that belong to it.
  std::string ranks(const DiscoverOptions& options = {}) const {
    std::map<pid_t, std::string> children;
    const RankDecision decision = decide(options);
    for (const RankRow& row : decision.rows) {
      if (!row.is_rank) {
        std::string& list = children[row.owner];
        list += (list.empty() ? "" : ",") + std::to_string(facts_[row.process].stat.pid);
      }
    }
    std::string text;
    for (const RankRow& row : decision.rows) {
      if (row.is_rank) {
        const auto found = children.find(row.owner);
        text += (text.empty() ? "" : " ") + std::to_string(row.rank) + ":" +
                std::to_string(row.owner) +
                (found == children.end() ? "" : "[" + found->second + "]");
      }
    }
    return text;
  }

  std::string jobs(const DiscoverOptions& options = {}) const {
    std::string text;
    for (const RankRow& row : decide(options).rows) {
      if (row.is_rank) {
        text += (text.empty() ? "" : " | ") + row.job;
      }
    }
    return text;
  }

 private:
  std::vector<ProcessFacts> facts_;
};

inline std::string torch(
    int rank, int local_rank, int world = 4, int local_world = 2, int port = 29500) {
  return "RANK=" + std::to_string(rank) + " LOCAL_RANK=" + std::to_string(local_rank) +
         " WORLD_SIZE=" + std::to_string(world) +
         " LOCAL_WORLD_SIZE=" + std::to_string(local_world) +
         " MASTER_ADDR=n0 MASTER_PORT=" + std::to_string(port) + " TORCHELASTIC_RUN_ID=r";
}

inline std::string slurm(int task,
                         int tasks = 4,
                         const std::string& listed = "",
                         int job = 7,
                         const std::string& step = "0") {
  return "SLURM_JOB_ID=" + std::to_string(job) + " SLURM_STEP_ID=" + step +
         " SLURM_PROCID=" + std::to_string(task) + " SLURM_NTASKS=" + std::to_string(tasks) +
         " SLURM_STEP_NUM_TASKS=" + std::to_string(tasks) +
         (listed.empty() ? "" : " SLURM_GTIDS=" + listed);
}

inline DiscoverOptions for_pids(std::vector<pid_t> pids) {
  DiscoverOptions options;
  options.pids = std::move(pids);
  return options;
}

}  // namespace oddrank::test
