// Words for the part of the job that was read, the same in the text and on the HTML page.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "aggregate/diagnosis.h"

namespace oddrank::report {

// Returns "2026-11-28 00:19:03 UTC" for microseconds since 1970; "" if unknown or after 9999.
std::string utc_words(std::uint64_t us);

// Returns "7/8 ranks on 4/4 nodes, 2026-11-28 00:19:03 UTC within 15 ms, 1 in part, job 4711
// (pretrain)": when the first rank was read, and how long after it the last one.
std::string coverage_words(const aggregate::Diagnosis& report);

// Returns "ranks 4-5", or "pid 4711" for a process without a rank; at most `columns` wide.
std::string unread_title(const aggregate::Unread& unread, std::size_t columns);

// Returns whether these words ("ranks 0-3", "pids 7,9", "4 processes") stand for several.
bool are_many(std::string_view who);

// Returns "gone", "in part" or "not read".
std::string_view unread_words(const aggregate::Unread& unread);

}  // namespace oddrank::report
