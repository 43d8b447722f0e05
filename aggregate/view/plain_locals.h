// The plain locals of ranks (numbers, bools, None, short strings), by variable, for comparing ranks
// that run the same program. Values that a launcher or the job's layout makes different on every
// rank are recognised here: they do not show how far a rank got.
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

// A variable of a frame. `activation`: of several frames of the function, 0 is the outermost.
struct Variable {
  std::string function;
  std::string file;
  std::size_t activation = 0;
  std::string name;
  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 takes the 0 of the comparison for null
  auto operator<=>(const Variable&) const = default;
};

// One frame of a stack.
struct Activation {
  std::string function;
  std::string file;
  std::string place;       // "train.py:88"
  std::size_t number = 0;  // as Variable::activation
  // A function of Python's library that waits: its locals are time limits, not the program's state.
  bool waits = false;
};

// Small, since a job has one for each rank and variable: texts are kept once.
struct PlainLocal {
  const Activation* frame = nullptr;  // valid as long as the PlainLocals
  snapshot::StringId name{};
  snapshot::StringId value{};
  std::size_t depth = 0;  // number of frames further in
  std::size_t order = 0;  // its place in the source
};

// Reads the locals of deciders; caches the frames of stacks and the names it has seen. Borrows the
// view.
class PlainLocals {
 public:
  explicit PlainLocals(const JobView& view) : view_(view) {}

  // Returns the locals, outermost frame first, without those whose names say that they differ by
  // rank. Empty for a process without a rank number. Valid until the next call.
  const std::vector<PlainLocal>& of(const RankView& rank);

  Variable variable_of(const PlainLocal& local) const;
  std::string value_of(const PlainLocal& local) const;  // printable, cut
  // Returns the value if it is an integer.
  std::optional<std::int64_t> number_of(const PlainLocal& local) const;

 private:
  const std::vector<Activation>& activations(snapshot::StackId stack);
  bool is_meant_to_differ(snapshot::StringId name);

  const JobView& view_;
  std::map<snapshot::StackId, std::vector<Activation>> activations_;  // by frame
  std::map<snapshot::StringId, bool> meant_to_differ_;
  // Kept, so that their memory serves all ranks.
  std::vector<const snapshot::FrameLocals*> rows_;
  std::vector<PlainLocal> found_;
};

struct RankNumber {
  std::int32_t rank = -1;
  std::int64_t number = 0;
};

// Returns whether the numbers follow the ranks: each is its rank plus a constant, or its place in a
// layout that divides a job of `world` ranks (rank / a, rank % b, rank / a % b). That may be
// chance, but such numbers are no evidence.
bool follows_rank(const std::vector<RankNumber>& numbers, std::size_t world);

}  // namespace oddrank::aggregate
