// What `oddrank doctor` found on each node, and how it is shown: can the node be reached, may
// processes be read, are there ranks, do their stacks unwind; with the remedy beside each no.
//
// A node answers with encode_health(); the asking side decodes, sorts and prints.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate/text_options.h"
#include "base/result.h"

namespace oddrank::aggregate {

enum class Answer : std::uint8_t {
  kYes = 0,
  kNo,   // something that oddrank needs is not there
  kOff,  // something that would help is not there, or there is nothing to ask about yet
};

struct Check {
  std::string name;  // a word, the same on all nodes: "access", "ranks", "stacks"
  Answer answer = Answer::kYes;
  std::string detail;  // a few words: "2", "3.11.2", "Yama forbids it"
  std::string remedy;  // of a no, and where there is one of an off
};

struct NodeHealth {
  std::string host;
  bool reached = false;
  std::string why;  // not reached: a sentence
  std::chrono::milliseconds after{0};
  std::string version;  // of oddrank over there
  std::vector<Check> checks;

  bool healthy() const;
};

std::string encode_health(const NodeHealth& node);
// kBadData. `host` and `after` are the asker's to fill in.
Result<NodeHealth> decode_health(std::string_view bytes);

// Worst first: not reached, then by the number of noes, then in the order given.
void sort_worst_first(std::vector<NodeHealth>& nodes);

// A line for each node (nodes that are alike share one beyond a screenful), the remedies of each no
// and off below it, once.
std::string doctor_text(const std::vector<NodeHealth>& nodes, const TextOptions& options);
std::string doctor_json(const std::vector<NodeHealth>& nodes);

}  // namespace oddrank::aggregate
