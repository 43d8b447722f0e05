#include "aggregate/flight/flight_mismatch.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>

#include <fmt/format.h>

#include "base/printable.h"

namespace oddrank::aggregate {
namespace {

using snapshot::StringId;

// Operations whose inputs, outputs, or both may differ between ranks. The "v" operations are uneven
// by name; all_gather and reduce_scatter of lists also take uneven ones.
struct Freedom {
  std::string_view op;
  bool input = false;
  bool output = false;
};
constexpr std::array kFree = {
    Freedom{"all_to_all", true, true},
    Freedom{"alltoall", true, true},
    Freedom{"all_to_all_single", true, true},
    Freedom{"all_to_all_v_single", true, true},
    Freedom{"alltoall_base", true, true},
    Freedom{"all_gather", true, false},
    Freedom{"all_gather_v", true, false},
    Freedom{"reduce_scatter", false, true},
    Freedom{"reduce_scatter_v", false, true},
    Freedom{"gather", false, true},
    Freedom{"scatter", true, false},
    Freedom{"broadcast", true, false},
    Freedom{"_broadcast_oop", true, false},
    Freedom{"reduce", false, true},
    Freedom{"_reduce_oop", false, true},
    Freedom{"coalesced", true, true},
    Freedom{"ALLGATHER_coalesced", true, false},
    Freedom{"REDUCE_SCATTER_coalesced", false, true},
};

// What ranks must agree on; -1 and "" if they need not.
struct Signature {
  StringId op{};
  std::int64_t input = -1;
  std::int64_t output = -1;
  StringId type{};

  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 takes the 0 of the comparison for null
  auto operator<=>(const Signature&) const = default;
};

// Returns "all_reduce of [4] Float -> [4] Float".
std::string flight_call_words(const FlightEntry& entry, const Tables& texts) {
  const auto tensors = [&texts](StringId sizes, StringId types) {
    const std::string shapes = printable(texts.text(sizes), 60);
    const std::string type = printable(texts.text(types), 40);
    return shapes + (type.empty() ? "" : " " + type);
  };
  const std::string in = tensors(entry.input_sizes, entry.input_types);
  const std::string out = tensors(entry.output_sizes, entry.output_types);
  std::string words = printable(texts.text(entry.op), 60);
  if (!in.empty()) {
    words += " of " + in;
  }
  if (!out.empty() && out != in) {
    words += (in.empty() ? " into " : " -> ") + out;
  }
  return words;
}

class Comparer {
 public:
  explicit Comparer(const FlightJob& job) : job_(job) {}

  Signature signature(const FlightEntry& entry);
  std::optional<FlightMismatch> first_in(std::size_t index);

 private:
  const Freedom& freedom_of(StringId op);
  FlightMismatch describe(std::size_t index, std::int64_t sequence);
  static std::string difference(const Signature& a, const Signature& b);

  const FlightJob& job_;
  std::map<StringId, const Freedom*> freedoms_;
};

Signature Comparer::signature(const FlightEntry& entry) {
  const Freedom& freedom = freedom_of(entry.op);
  Signature result;
  result.op = entry.op;
  result.input = freedom.input ? -1 : entry.input_count;
  result.output = freedom.output ? -1 : entry.output_count;
  // The types of lists that only the root has are missing on the other ranks.
  result.type =
      !freedom.input ? entry.input_types : (!freedom.output ? entry.output_types : StringId{});
  return result;
}

std::optional<FlightMismatch> Comparer::first_in(std::size_t index) {
  struct Seen {
    std::optional<Signature> first;
    bool differs = false;
    bool open = false;  // a call that has ended everywhere did no harm
  };
  std::map<std::int64_t, Seen> by_number;
  for (const FlightTrack& track : job_.groups[index].tracks) {
    for (const FlightEntry* call : track.calls) {
      const Signature one = signature(*call);
      Seen& seen = by_number[call->sequence];
      seen.differs = seen.differs || (seen.first && *seen.first != one);
      seen.first = seen.first ? seen.first : one;
      seen.open = seen.open || !has_ended(*call, *job_.texts);
    }
  }
  const auto found = std::ranges::find_if(
      by_number, [](const auto& entry) { return entry.second.differs && entry.second.open; });
  return found == by_number.end() ? std::nullopt : std::optional(describe(index, found->first));
}

const Freedom& Comparer::freedom_of(StringId op) {
  const auto [at, is_new] = freedoms_.try_emplace(op, nullptr);
  if (is_new) {
    static constexpr Freedom kNone;
    const std::string_view name = job_.texts->text(op);
    const auto* found =
        std::ranges::find_if(kFree, [name](const Freedom& one) { return one.op == name; });
    at->second = found == kFree.end() ? &kNone : found;
  }
  return *at->second;
}

FlightMismatch Comparer::describe(std::size_t index, std::int64_t sequence) {
  using Side = std::pair<Signature, std::vector<const FlightTrack*>>;
  std::map<Signature, std::vector<const FlightTrack*>> by_signature;
  for (const FlightTrack& track : job_.groups[index].tracks) {
    if (const FlightEntry* call = track.at(sequence)) {
      by_signature[signature(*call)].push_back(&track);
    }
  }
  std::vector<Side> sides(by_signature.begin(), by_signature.end());
  std::ranges::stable_sort(
      sides, [](const Side& a, const Side& b) { return a.second.size() > b.second.size(); });
  FlightMismatch mismatch;
  mismatch.group = index;
  mismatch.sequence = sequence;
  mismatch.what = difference(sides[0].first, sides[1].first);
  mismatch.tie = sides[0].second.size() == sides[1].second.size();
  for (const auto& [signature, tracks] : sides) {
    const FlightEntry& call = *tracks.front()->at(sequence);
    FlightSide& side = mismatch.sides.emplace_back();
    side.call = flight_call_words(call, *job_.texts);
    side.place = printable(job_.texts->text(call.place), 80);
    std::ranges::transform(tracks, std::back_inserter(side.ranks), &FlightTrack::rank);
  }
  // Whether the side calls next what the other one calls here.
  const auto follows = [&](const Side& side, const Side& other) {
    const FlightEntry* next = side.second.front()->at(sequence + 1);
    return next != nullptr && signature(*next) == other.first;
  };
  const bool ahead = !mismatch.tie &&
                     std::all_of(sides.begin() + 1, sides.end(),
                                 [&](const Side& other) { return follows(sides.front(), other); });
  // A side that has also made the others' call may have left one out or only made it later.
  mismatch.exchanged = ahead && std::any_of(sides.begin() + 1, sides.end(), [&](const Side& other) {
                         return follows(other, sides.front());
                       });
  mismatch.skipped = ahead && !mismatch.exchanged;
  return mismatch;
}

std::string Comparer::difference(const Signature& a, const Signature& b) {
  if (a.op != b.op) {
    return "operation";
  }
  if (a.input != b.input) {
    return "input size";
  }
  return a.output != b.output ? "output size" : "type";
}

}  // namespace

std::vector<std::int32_t> FlightMismatch::deviating() const {
  std::vector<std::int32_t> found;
  for (std::size_t i = tie ? 0 : 1; i < sides.size(); ++i) {
    found.insert(found.end(), sides[i].ranks.begin(), sides[i].ranks.end());
  }
  std::ranges::sort(found);
  return found;
}

std::vector<FlightMismatch> find_mismatches(const FlightJob& job) {
  Comparer comparer(job);
  std::vector<FlightMismatch> mismatches;
  for (std::size_t index = 0; index < job.groups.size(); ++index) {
    if (auto mismatch = comparer.first_in(index)) {
      mismatches.push_back(std::move(*mismatch));
    }
  }
  return mismatches;
}

}  // namespace oddrank::aggregate
