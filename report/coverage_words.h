// Words for how much of the job was read, the same in the text and on the HTML page.
#pragma once

#include <string>
#include <string_view>

#include "aggregate/diagnosis.h"

namespace oddrank::report {

// Returns "7/8 ranks on 4/4 nodes, captured within 15 ms, 1 in part, job 4711 (pretrain)".
std::string coverage_words(const aggregate::Diagnosis& report);

// Returns "ranks 4-5", or "pid 4711" of a process without a rank; at most `columns` wide.
std::string unread_title(const aggregate::Unread& unread, std::size_t columns);

// Returns "gone", "in part" or "not read".
std::string_view unread_words(const aggregate::Unread& unread);

}  // namespace oddrank::report
