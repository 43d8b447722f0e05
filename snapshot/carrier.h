// Translates ids of one set of tables to another, on demand; each row is looked up once.
#pragma once

#include <concepts>
#include <cstdint>
#include <vector>

#include "snapshot/capture.h"

namespace oddrank::snapshot {

// Keeps references to both tables. An id that `from` does not have becomes 0 (empty string, empty
// stack), so that a damaged capture cannot cause reads out of bounds. A row that is moved in is
// returned without a copy.
class Carrier {
 public:
  Carrier(const Tables& from, Tables& to);

  StringId string(StringId id);
  FrameId frame(FrameId id);
  StackId stack(StackId id);
  CaptureRows rows(CaptureRows rows);
  ProcessCapture process(ProcessCapture process);
  CollectiveState collectives(CollectiveState state);
  FlightRecord flight_record(FlightRecord record);
  RasCommunicator communicator(RasCommunicator communicator);
  LogLine log_line(LogLine line);
  Device device(Device device);
  LinkPort port(LinkPort port);

 private:
  void carry(ThreadCapture& thread);
  void carry(Wait& wait);
  void carry(CollectiveCall& call);
  template <std::same_as<StringId>... Ids>
  void carry(Ids&... ids) {
    ((ids = string(ids)), ...);
  }

  const Tables& from_;
  Tables& to_;
  static constexpr std::uint32_t kNotCarried = 0xffffffff;
  std::vector<std::uint32_t> strings_;  // index: id in from_; value: id in to_
  std::vector<std::uint32_t> frames_;
  std::vector<std::uint32_t> stacks_;
};

}  // namespace oddrank::snapshot
