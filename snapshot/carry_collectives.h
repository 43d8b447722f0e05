// A whole CollectiveState carried over to other tables (carrier.h): for steps that make the tables
// of a capture anew.
#pragma once

#include "snapshot/carrier.h"
#include "snapshot/collective_state.h"

namespace oddrank::snapshot {

inline CollectiveState carry_collectives(CollectiveState state, Carrier& carrier) {
  for (FlightRecord& record : state.flight) {
    record = carrier.flight_record(record);
  }
  for (RasCommunicator& communicator : state.ras) {
    communicator = carrier.communicator(communicator);
  }
  for (LogLine& line : state.log) {
    line = carrier.log_line(line);
  }
  for (Device& device : state.devices) {
    device = carrier.device(device);
  }
  for (LinkPort& port : state.ports) {
    port = carrier.port(port);
  }
  return state;
}

}  // namespace oddrank::snapshot
