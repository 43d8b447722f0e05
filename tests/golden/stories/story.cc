#include "tests/golden/stories/story.h"

#include <iterator>

namespace oddrank::tests {

std::string Story::path() const {
  return std::string(aggregate::kind_name(not_kind)) + '/' + (is_near_miss() ? "not_" : "") +
         std::string(name);
}

std::vector<Story> all_stories() {
  std::vector<Story> all;
  for (const auto family :
       {stories_of_progress, stories_of_lost_ranks, stories_of_failed_ranks, stories_of_crashes,
        stories_of_collectives, stories_of_order, stories_of_circles, stories_of_servers,
        stories_of_engines, stories_of_links, stories_of_nobody, stories_of_children,
        stories_of_files, stories_of_ends, stories_of_locks, stories_of_outside}) {
    auto stories = family();
    std::move(stories.begin(), stories.end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace oddrank::tests
