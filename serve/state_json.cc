#include "serve/state_json.h"

#include <nlohmann/json.hpp>

namespace oddrank::serve {
namespace {

using Json = nlohmann::ordered_json;

std::int64_t in_ms(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}

}  // namespace

std::string state_json(const LiveReports& reports,
                       LiveReports::Time now,
                       const std::string& about,
                       bool words) {
  Json state;
  state["about"] = about;
  state["busy"] = !reports.busy() ? "" : reports.comparing() ? "comparing" : "reading";
  state["busy_ms"] = reports.busy_for(now).count();
  state["words"] = words ? reports.last_line() : "";
  state["pause_ms"] = reports.pause_left(now).count();
  const auto renewal = reports.renewal_in(now);
  state["renewal_ms"] = renewal ? Json(renewal->count()) : Json();
  const auto& trouble = reports.trouble();
  state["trouble"] = trouble ? trouble->what : "";
  state["hint"] = trouble ? trouble->hint : "";
  state["reports"] = Json::array();
  for (const KeptReport& report : reports.history().all()) {
    Json row = {
        {"id", report.id}, {"age_ms", in_ms(now - report.at)}, {"sentence", report.sentence}};
    if (report.is_comparison()) {
      row["of"] = {report.earlier, report.later};
    }
    state["reports"].push_back(std::move(row));
  }
  // Texts are printable, but a text that was cut within a letter must not end the program.
  return state.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace oddrank::serve
