#include "snapshot/devices/xid_errors.h"

#include <algorithm>
#include <iterator>

namespace oddrank::snapshot {
namespace {

struct XidRow {
  std::int32_t first = 0;
  std::int32_t last = 0;
  XidMeaning meaning;
};

constexpr XidRow kXidRows[] = {
    {13, 13, {XidFault::kProgram, "exception in a kernel"}},
    {31, 31, {XidFault::kProgram, "access to memory that is not mapped"}},
    {43, 43, {XidFault::kProgram, "the GPU has stopped a program's work"}},
    {45, 45, {XidFault::kProgram, "clean-up after an earlier error"}},
    {48, 48, {XidFault::kDevice, "memory error that cannot be corrected"}},
    {62, 62, {XidFault::kDevice, "its microcontroller has halted"}},
    {63, 63, {XidFault::kDevice, "faulty memory has been replaced"}},
    {64, 64, {XidFault::kDevice, "faulty memory could not be replaced"}},
    {74, 74, {XidFault::kDevice, "error of NVLink"}},
    {79, 79, {XidFault::kDevice, "the GPU has fallen off the bus"}},
    {94, 94, {XidFault::kDevice, "memory error, contained"}},
    {95, 95, {XidFault::kDevice, "memory error, not contained"}},
    {119, 119, {XidFault::kDevice, "its system processor (GSP) does not answer"}},
    {120, 120, {XidFault::kDevice, "error of its system processor (GSP)"}},
    {140, 140, {XidFault::kDevice, "memory error that was not recovered"}},
    {144, 150, {XidFault::kDevice, "error of NVLink"}},
};

}  // namespace

XidMeaning meaning_of_xid(std::int32_t xid) {
  const auto* row = std::ranges::find_if(
      kXidRows, [xid](const XidRow& one) { return one.first <= xid && xid <= one.last; });
  return row == std::end(kXidRows) ? XidMeaning{} : row->meaning;
}

}  // namespace oddrank::snapshot
