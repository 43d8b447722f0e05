// Ids of one set of tables carried over to another, on demand; each row is looked up once.
#pragma once

#include <cstdint>
#include <vector>

#include "snapshot/collective_state.h"
#include "snapshot/process_capture.h"
#include "snapshot/tables.h"

namespace oddrank::snapshot {

// Keeps references to both tables. An id that `from` does not have becomes 0 (empty string, empty
// stack), so that a damaged capture cannot make it read out of bounds.
class Carrier {
 public:
  Carrier(const Tables& from, Tables& to);

  StringId string(StringId id);
  FrameId frame(FrameId id);
  StackId stack(StackId id);
  ProcessCapture process(const ProcessCapture& process);
  FlightRecord flight_record(const FlightRecord& record);
  RasCommunicator communicator(const RasCommunicator& communicator);
  LogLine log_line(const LogLine& line);
  Device device(const Device& device);
  LinkPort port(const LinkPort& port);

 private:
  ThreadCapture thread(const ThreadCapture& thread);
  Wait wait(const Wait& wait);
  CollectiveCall call(const CollectiveCall& call);

  const Tables& from_;
  Tables& to_;
  static constexpr std::uint32_t kNotCarried = 0xffffffff;
  std::vector<std::uint32_t> strings_;  // index: id in from_; value: id in to_
  std::vector<std::uint32_t> frames_;
  std::vector<std::uint32_t> stacks_;
};

}  // namespace oddrank::snapshot
