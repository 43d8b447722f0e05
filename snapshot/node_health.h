// What `oddrank doctor` found on one node: whether it can be reached, whether processes may be
// read, whether it has ranks and their stacks unwind; with a remedy for each "no". Plain data: the
// node sends it as JSON, and the requesting side reports it.
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
  kNo,   // something that oddrank needs is missing
  kOff,  // something that would help is missing, or there is nothing to check yet
};

struct Check {
  std::string name;  // a word, the same on all nodes: "access", "ranks", "stacks"
  Answer answer = Answer::kYes;
  std::string detail;  // a few words: "2", "3.11.2", "Yama forbids it"
  std::string remedy;  // for a "no"; for an "off", if there is one
};

struct NodeHealth {
  std::string host;
  bool reached = false;
  std::string why;  // not reached: a sentence
  std::chrono::milliseconds after{0};
  std::string version;  // of the oddrank on that node
  std::vector<Check> checks;

  // Returns how many checks failed with "no".
  std::size_t noes() const;
  bool healthy() const { return reached && noes() == 0; }
};

// "yes", "no", "off": also the words of the JSON report.
std::string_view answer_name(Answer answer);

// Leaves out `host`, `reached`, `why` and `after`, which only the requesting side knows.
std::string encode_health(const NodeHealth& node);
// Returns a node that was reached, its texts printable and cut; leaves out unknown fields. Fails
// with kBadData if the bytes are not such an answer.
Result<NodeHealth> decode_health(std::string_view bytes);

}  // namespace oddrank::snapshot
