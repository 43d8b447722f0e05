// docs/capture-columns.txt lists the tables and columns that a capture file has.
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/printable.h"
#include "snapshot/fields/row_fields.h"
#include "tests/support/catch.h"

namespace oddrank::snapshot {
namespace {

class ColumnList;

struct ListedTables {
  std::set<RowTable> seen;
  std::vector<std::pair<std::string_view, std::string>> tables;  // name, columns; owners first
};

// Visits the fields of one row (fields/row_fields.h).
class ColumnList {
 public:
  explicit ColumnList(ListedTables& all) : all_(all) {}

  template <typename T>
  void operator()(std::string_view name, const T& /*value*/) {
    constexpr bool kText = std::is_same_v<T, StringId> || std::is_same_v<T, std::string>;
    add(std::string(name) + (kText                        ? ": text"
                             : std::is_same_v<T, FrameId> ? ": frame"
                             : std::is_same_v<T, StackId> ? ": stack"
                                                          : ""));
  }
  template <typename T>
  void index(std::string_view name, const T& /*value*/, RowTable of) {
    add(std::string(name) + ": row of " + std::string(facts_of(of).name));
  }
  template <typename List>
  void rows(RowTable table, const List& /*list*/, std::size_t most = 0) {
    child<typename List::value_type>(table,
                                     most == 0 ? "" : ", " + std::to_string(most) + " at most");
  }
  template <typename Box>
  void maybe(RowTable table, const Box& /*box*/) {
    child<typename Box::value_type>(table, ", 1 at most");
  }
  template <typename Facts>
  void rare(const Facts& facts) {
    fields(*this, *facts);
  }
  template <typename Fits>
  void check(const Fits& /*fits*/, const char* /*what*/) {}
  void shown(const ThreadCapture& /*thread*/) {}

  template <typename Row>
  static void list(RowTable table, ListedTables& all) {
    if (!all.seen.insert(table).second) {
      return;
    }
    const std::size_t at = all.tables.size();
    all.tables.emplace_back(facts_of(table).name, "");
    ColumnList columns(all);
    const Row row{};
    fields(columns, row);
    all.tables[at].second = columns.text_;
  }

 private:
  void add(const std::string& column) { text_ += (text_.empty() ? "" : ", ") + column; }
  template <typename Row>
  void child(RowTable table, const std::string& most) {
    add("[" + std::string(facts_of(table).name) + most + "]");
    list<Row>(table, all_);
  }

  ListedTables& all_;
  std::string text_;
};

// As docs/capture-columns.txt has them: a table a paragraph.
std::string listed_tables() {
  constexpr std::size_t kColumns = 118;
  ListedTables all;
  ColumnList::list<Frame>(RowTable::kFrames, all);
  ColumnList::list<Stack>(RowTable::kStacks, all);
  ColumnList::list<CaptureRows>(RowTable::kCapture, all);
  CHECK(all.seen.size() == kRowTables);
  std::string text;
  for (const auto& [name, columns] : all.tables) {
    text += std::string(name) + '\n';
    for (const std::string& line : wrap(columns, kColumns - 4)) {
      text += "    " + line + '\n';
    }
  }
  return text;
}

TEST_CASE("docs/capture-columns.txt has the tables and columns of a capture file") {
  const std::string path = ODDRANK_DOCS_FOLDER "/capture-columns.txt";
  const std::string wanted = listed_tables();
  if (std::getenv("UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path) << wanted;
    return;
  }
  std::ifstream file(path);
  CHECK(std::string((std::istreambuf_iterator<char>(file)), {}) == wanted);
}

}  // namespace
}  // namespace oddrank::snapshot
