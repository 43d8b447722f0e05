// What ranks did at each look (timeline.h), as data of the HTML report.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "aggregate/view/job_view.h"
#include "report/html_tables.h"

namespace oddrank::report {

// A JSON object with the member timeline; html/timeline.js reads it. `group_of_rank`: the report's
// group of each of view.ranks(), in whose order the rows come; -1 = in none. What is equal on many
// ranks is sent once, and rows that nobody would read are only counted: a job of any size takes
// some tens of kilobytes, beside the texts and stacks that it adds to `tables`.
std::string html_timeline(const aggregate::JobView& view,
                          const std::vector<std::int64_t>& group_of_rank,
                          HtmlTables& tables);

}  // namespace oddrank::report
