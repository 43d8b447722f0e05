#include "serve/live_page.h"

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "serve/http_server.h"
#include "serve/live_reports.h"
#include "serve/route.h"

namespace oddrank::serve {
namespace {

using Json = nlohmann::ordered_json;

std::int64_t in_ms(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}

// Returns the state of the live page, which the page requests every two seconds. `about`: the
// command, for the title. `words`: whether the reading's stderr may be shown.
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

constexpr std::string_view kHtml = "text/html; charset=utf-8";
constexpr std::string_view kPagePolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; frame-src "
    "'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
// A report has an origin of its own: if a script got into it, the script could request nothing from
// this server.
constexpr std::string_view kReportPolicy =
    "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src "
    "'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'";

// The data that the server and the ticks share.
class LivePage {
 public:
  LivePage(const LiveOptions& options, Makers makers);

  Answer answer(const Request& request);
  // Returns false once it is to end.
  bool tick(const std::atomic<int>& ended);
  // Begins the first reading.
  void begin() { reports_.read_again(LiveReports::Time::clock::now()); }
  std::string path() const { return door_.token + "/"; }
  // Why the first reading failed, if it did.
  Status finish();

 private:
  Answer answer_place(const Route& route);
  static Answer answer_begun(Begun begun);

  const LiveOptions& options_;
  Door door_;
  LiveReports reports_;
};

Answer text_answer(unsigned status, std::string text) {
  Answer answer;
  answer.status = status;
  answer.body = std::make_shared<const std::string>(std::move(text) + "\n");
  return answer;
}

Answer file_answer(std::string_view type, std::string_view bytes) {
  Answer answer;
  answer.status = 200;
  answer.type = type;
  answer.policy = kPagePolicy;
  answer.body = std::make_shared<const std::string>(bytes);
  return answer;
}

LivePage::LivePage(const LiveOptions& options, Makers makers)
    : options_(options), reports_(std::move(makers), options.renew) {
  door_.token = make_token();
  door_.names = {options.own_name, options.own_name.substr(0, options.own_name.find('.'))};
}

Answer LivePage::answer(const Request& request) {
  const Route route = route_request(request, door_);
  Answer answer = answer_place(route);
  answer.trusted = route.trusted;
  return answer;
}

Answer LivePage::answer_place(const Route& route) {
  const auto now = LiveReports::Time::clock::now();
  switch (route.place) {
    case Place::kNowhere:
      break;
    case Place::kRefused:
      return text_answer(403, "refused: the request does not come from this page");
    case Place::kNoMethod:
      return text_answer(405, "no such method here");
    case Place::kPage:
      return file_answer(kHtml, page_html());
    case Place::kScript:
      return file_answer("text/javascript; charset=utf-8", page_script());
    case Place::kStyle:
      return file_answer("text/css; charset=utf-8", page_style());
    case Place::kState:
      return file_answer("application/json",
                         state_json(reports_, now, options_.about, options_.shows_words));
    case Place::kReport: {
      const KeptReport* report = reports_.history().find(route.id);
      if (report == nullptr) {
        break;
      }
      Answer answer;
      answer.status = 200;
      answer.type = kHtml;
      answer.policy = kReportPolicy;
      answer.body = report->page;
      return answer;
    }
    case Place::kReadAgain:
      return answer_begun(reports_.read_again(now));
    case Place::kCompare:
      return answer_begun(reports_.compare(route.id, route.other, now));
  }
  return text_answer(404, "not found");
}

Answer LivePage::answer_begun(Begun begun) {
  switch (begun) {
    case Begun::kStarted:
      return text_answer(202, "begun");
    case Begun::kBusy:
      return text_answer(200, "already under way");
    case Begun::kTooEarly:
      return text_answer(200, "the last one has just been made");
    case Begun::kFailed:
      return text_answer(503, "could not begin");
    case Begun::kUnknown:
      break;
  }
  return text_answer(404, "not found");
}

bool LivePage::tick(const std::atomic<int>& ended) {
  reports_.tick(LiveReports::Time::clock::now());
  const bool failed = reports_.trouble() && reports_.history().newest() == nullptr;
  return ended == 0 && !failed;
}

Status LivePage::finish() {
  reports_.stop();
  if (reports_.trouble() && reports_.history().newest() == nullptr) {
    return fail(*reports_.trouble());
  }
  return ok();
}

}  // namespace

Status serve_reports(const LiveOptions& options,
                     Makers makers,
                     const std::atomic<int>& ended,
                     const std::function<void(const std::string& url)>& opened) {
  ODDRANK_TRY(HttpServer server, HttpServer::listen(options.address));
  LivePage page(options, std::move(makers));
  ListenAddress address = options.address;
  address.port = server.port();
  opened(url_of(address, options.own_name) + page.path());
  page.begin();
  server.run([&page](const Request& request) { return page.answer(request); },
             [&page, &ended] { return page.tick(ended); });
  return page.finish();
}

}  // namespace oddrank::serve
