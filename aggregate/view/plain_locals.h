// The plain locals of ranks (numbers, bools, None, short strings), by variable: ranks that run the
// same program are compared by them. Values that a launcher or the job's layout makes different on
// every rank are recognised here: they do not show how far a rank got.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "aggregate/view/job_view.h"

namespace oddrank::aggregate {

// A variable of a frame: which function, which of its activations (0: the outermost), which name.
struct Variable {
  std::string function;
  std::string file;
  std::size_t activation = 0;
  std::string name;
  // NOLINTNEXTLINE(modernize-use-nullptr): version 14 takes the 0 that it compares with for one
  auto operator<=>(const Variable&) const = default;
};

struct PlainLocal {
  Variable variable;
  std::string value;      // printable, cut
  std::string place;      // of the frame: "train.py:88"
  std::size_t depth = 0;  // number of frames further in
  std::size_t order = 0;  // its place in the source

  std::optional<std::int64_t> number() const;  // if the value is an integer
};

// Reads the locals of the threads that speak for ranks, and remembers the frames of stacks it has
// seen. Borrows the view.
class PlainLocals {
 public:
  explicit PlainLocals(const JobView& view) : view_(view) {}

  // Returns the locals, outermost frame first, without those whose names say that they differ by
  // rank. Empty for a process without a rank number.
  std::vector<PlainLocal> of(const RankView& rank);

 private:
  struct Activation {
    std::string function;
    std::string file;
    std::string place;
    std::size_t number = 0;
  };
  const std::vector<Activation>& activations(snapshot::StackId stack);

  const JobView& view_;
  std::map<snapshot::StackId, std::vector<Activation>> activations_;  // by frame
};

struct RankNumber {
  std::int32_t rank = -1;
  std::int64_t number = 0;
};

// Returns whether the numbers follow the ranks: each is its rank plus one constant, or its place in
// a layout that divides a job of `world` ranks (rank / a, rank % b, rank / a % b). This may be
// chance, but such numbers are no evidence of anything else.
bool follows_rank(const std::vector<RankNumber>& numbers, std::size_t world);

}  // namespace oddrank::aggregate
