// What `oddrank doctor` found on one node: can it be reached, may processes be read, are there
// ranks, do their stacks unwind; with the remedy beside each no. Plain data that a node answers
// with, as JSON, and that the asking side reports.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace oddrank::snapshot {

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
  std::string version;  // of the oddrank on that node
  std::vector<Check> checks;

  // How many checks were answered with a no.
  std::size_t noes() const;
  bool healthy() const { return reached && noes() == 0; }
};

// "yes", "no", "off": also the words of the JSON report.
std::string_view answer_name(Answer answer);

// All of it but `host`, `reached`, `why` and `after`, which only the asking side knows.
std::string encode_health(const NodeHealth& node);
// Returns a node that was reached. kBadData where the bytes are no such answer; texts are printable
// and cut, and what is not understood is left out.
Result<NodeHealth> decode_health(std::string_view bytes);

}  // namespace oddrank::snapshot
