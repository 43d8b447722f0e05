// What ranks did in each sample and between samples, as data of the HTML report: the place and
// state of each deciding thread, its CPU use, and how often it woke. Ranks of one group that did
// the same share a row; ranks that moved have their own rows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "aggregate/view/job_view.h"
#include "report/html/html_tables.h"

namespace oddrank::report {

// Returns a JSON object with the member timeline; html/timeline.js reads it. `group_of_rank`: the
// report's group of each rank, in the order of view.ranks(), which is also the order of the rows;
// -1 = in none. Equal data of many ranks is written once, and rows beyond the first 200 are only
// counted: a job of any size takes some tens of kilobytes, besides the texts and stacks that it
// adds to `tables`. At most the last twelve samples are written; a rank with fewer samples lacks
// the first ones.
std::string html_timeline(const aggregate::JobView& view,
                          const std::vector<std::int64_t>& group_of_rank,
                          HtmlTables& tables);

}  // namespace oddrank::report
