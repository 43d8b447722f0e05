// Translates ids of one set of tables to another, on demand; each row is looked up once. Texts may
// be rewritten on the way. Every text of a capture passes through here, also texts of fields that
// are added later (fields/row_fields.h), so none is forgotten.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "snapshot/capture.h"

namespace oddrank::snapshot {

// How texts change when they are carried; an empty function changes nothing.
struct TextRewrites {
  std::function<std::string(std::string_view)> text;
  // Files of frames, which are paths on the node. Functions and build ids stay as they are.
  std::function<std::string(std::string_view)> frame_file;
};

// Keeps references to both tables. An id that `from` does not have becomes 0 (empty string, empty
// stack), so that a damaged capture cannot cause reads out of bounds. A row that is moved in is
// returned without a copy.
class Carrier {
 public:
  Carrier(const Tables& from, Tables& to);
  Carrier(const Tables& from, Tables& to, TextRewrites rewrites);

  // Inline for ids that were carried before: a large job has tens of millions.
  StringId string(StringId id);
  FrameId frame(FrameId id);
  StackId stack(StackId id);
  // Carries a row with all rows that belong to it: ProcessCapture, FlightRecord, RasCommunicator,
  // LogLine, Device, LinkPort, ResourceRequest, CollectiveState, CaptureRows.
  template <typename Row>
  Row row(Row row);
  // Rewrites a text that is in no table.
  void rewrite(std::string& text) const;

 private:
  using Rewrite = std::function<std::string(std::string_view)>;
  using Carried = std::vector<std::uint32_t>;

  StringId carried(StringId id, Carried& known, const Rewrite& rewrite);
  const Tables& from_;
  Tables& to_;
  static constexpr std::uint32_t kNotCarried = 0xffffffff;
  TextRewrites rewrites_;
  Carried strings_;  // index: id in from_; value: id in to_
  Carried files_;    // of frames
  Carried names_;    // of frames: functions, build ids
  Carried frames_;
  Carried stacks_;
};

inline StringId Carrier::string(StringId id) {
  const auto at = static_cast<std::size_t>(id);
  return at < strings_.size() && strings_[at] != kNotCarried
             ? StringId{strings_[at]}
             : carried(id, strings_, rewrites_.text);
}

}  // namespace oddrank::snapshot
