#include "aggregate/view/wanted_resources.h"

#include <algorithm>

#include "aggregate/view/remote_calls.h"

namespace oddrank::aggregate {

using snapshot::Known;
using snapshot::ResourceRequest;

namespace {

bool is_beyond_cluster(const ResourceRequest& request) {
  return request.asked > request.total;
}

bool may_be_meant(const std::vector<RankView>& ranks,
                  const ResourceRequest& request,
                  const snapshot::AskedObjects& asked,
                  std::string_view call) {
  constexpr std::int64_t kSurelyPendingMs = 5000;  // it is in two of Ray's statuses
  if (!call.ends_with("of Ray") ||
      (request.pending_ms < kSurelyPendingMs && !is_beyond_cluster(request))) {
    return false;
  }
  if (!asked.known) {
    return request.is_group || !call.starts_with("a placement group");
  }
  return request.is_group ? asked.others : asked.tasks || asks_unseen_actor(asked, ranks);
}

}  // namespace

std::vector<const ResourceRequest*> find_wanted(const std::vector<RankView>& ranks,
                                                const std::vector<ResourceRequest>& requests,
                                                const snapshot::ThreadCapture& thread,
                                                std::string_view call) {
  std::vector<const ResourceRequest*> wanted;
  for (const ResourceRequest& request : requests) {
    if (may_be_meant(ranks, request, thread.wait.rare->asked, call)) {
      wanted.push_back(&request);
    }
  }
  return wanted;
}

Known holds(const ResourceRequest& request, const snapshot::ProcessCapture& process) {
  if (is_beyond_cluster(request)) {
    return Known::kNo;
  }
  const auto& holders = request.holders;
  const bool all_known = process.node == request.node && request.lacks != snapshot::StringId{} &&
                         (!holders.empty() || request.free == request.total);
  if (!all_known) {
    return Known::kUnknown;
  }
  return std::ranges::find(holders, process.pid) == holders.end() ? Known::kNo : Known::kYes;
}

}  // namespace oddrank::aggregate
