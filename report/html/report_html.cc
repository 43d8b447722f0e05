#include "report/html/report_html.h"

#include <string>
#include <string_view>

#include "report/html/html_data.h"
#include "report/report_text.h"

namespace oddrank::report {
namespace {

std::string_view escape_of(char letter) {
  switch (letter) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    default:
      return {};
  }
}

std::string escaped(std::string_view text) {
  std::string result;
  for (const char letter : text) {
    const std::string_view escape = escape_of(letter);
    if (escape.empty()) {
      result += letter;
    } else {
      result += escape;
    }
  }
  return result;
}

}  // namespace

std::string report_html(const aggregate::Diagnosis& report, const aggregate::JobView& view) {
  const std::string title = escaped(report.verdict.summary);
  const std::string text = escaped(report_text(report, view, {}));
  const std::string data = html_data(report, view);
  const auto filling = [&](std::string_view mark) -> std::string_view {
    return mark == "title"    ? std::string_view(title)
           : mark == "text"   ? std::string_view(text)
           : mark == "data"   ? std::string_view(data)
           : mark == "style"  ? html_style()
           : mark == "script" ? html_script()
                              : std::string_view();
  };
  // Makes one pass over the page's source: inserted text is never searched for marks.
  std::string page;
  std::string_view rest = html_page();
  constexpr std::string_view kBegin = "<!--";
  constexpr std::string_view kEnd = "-->";
  for (std::size_t at = rest.find(kBegin); at != std::string_view::npos; at = rest.find(kBegin)) {
    page += rest.substr(0, at);
    rest.remove_prefix(at + kBegin.size());
    const std::size_t end = rest.find(kEnd);
    page += filling(rest.substr(0, end));
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + kEnd.size());
  }
  page += rest;
  return page;
}

}  // namespace oddrank::report
