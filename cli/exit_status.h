// Exit statuses. They are a contract: scripts branch on them.
#pragma once

namespace oddrank::cli {

enum ExitStatus : int {
  kAllRead = 0,    // every expected rank was read
  kToolFault = 1,  // a fault of oddrank itself
  kWrongUsage = 2,
  kPartial = 3,  // the report says which ranks are missing and why
  kNothingRead = 4,
};

}  // namespace oddrank::cli
