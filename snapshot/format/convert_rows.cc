#include "snapshot/format/convert_rows.h"

#include <algorithm>
#include <string>
#include <utility>

#include "snapshot/format/row_reader.h"
#include "snapshot/format/row_writer.h"

namespace oddrank::snapshot {

namespace {

Error over_budget() {
  return {Errc::kBadData, "it describes more than a capture of its size may", ""};
}

// Takes room for the document itself, and for all texts and rows that it describes.
Status take_room(const ReadDocument& document, MemoryBudget& budget) {
  constexpr std::size_t kCostOfText = 128;  // in the table, besides its bytes
  budget.take(document.numbers.size(), sizeof(std::int64_t));
  budget.take(document.strings.size(), sizeof(std::string_view) + kCostOfText);
  for (const std::string_view text : document.strings) {
    budget.take(2 * text.size());
  }
  for (const RowTableFacts& facts : kRowTableFacts) {
    const ReadTable* table = document.table(facts.name);
    budget.take(table == nullptr || table->columns.empty() ? 0 : table->columns.front().size,
                facts.row_bytes);
  }
  return budget.over() ? Status(fail(over_budget())) : ok();
}

// Returns how many bytes of text a frame has when it is printed.
std::size_t bytes_of(const ReadDocument& document, const Frame& frame) {
  std::size_t bytes = 0;
  for (const StringId id : {frame.function, frame.file, frame.source, frame.build_id}) {
    bytes += document.strings[static_cast<std::size_t>(id)].size();
  }
  return bytes;
}

// Tables intern, so an id of the file equals the id in memory only if no row occurs twice.
void read_tables(TableReaders& readers, Tables& tables) {
  RowReader& frames = readers.of(RowTable::kFrames);
  RowReader& stacks = readers.of(RowTable::kStacks);
  const auto& strings = readers.document.strings;
  tables.reserve(strings.size(), frames.rows(), stacks.rows());
  for (const std::string_view string : strings) {
    tables.string(string);
  }
  std::vector<std::size_t> frame_bytes;
  while (frames.next()) {
    Frame frame;
    fields(frames, frame);
    tables.frame(frame);
    frame_bytes.push_back(bytes_of(readers.document, frame));
  }
  while (stacks.next()) {
    Stack stack;
    StackSize size;
    fields(stacks, stack);
    tables.stack(stack);
    size.frames = stack.frames.size();
    for (const FrameId frame : stack.frames) {
      const auto at = static_cast<std::size_t>(frame);
      size.bytes += at < frame_bytes.size() ? frame_bytes[at] : 0;
    }
    readers.stacks.push_back(size);
  }
  if (tables.strings().size() != strings.size()) {
    frames.refuse("a text stands in the string table twice");
  }
  if (tables.frames().size() != frames.rows()) {
    frames.refuse("a row stands there twice");
  }
  if (tables.stacks().size() != stacks.rows()) {
    stacks.refuse("a row stands there twice");
  }
}

}  // namespace

Result<Capture> from_document(const ReadDocument& document, MemoryBudget budget) {
  ODDRANK_TRY_STATUS(take_room(document, budget));
  if (document.strings.empty() || !document.strings.front().empty()) {
    return fail(Errc::kBadData, "its string table does not begin with the empty text");
  }
  TableReaders readers(document, budget);
  Capture capture;
  read_tables(readers, capture.tables);
  if (RowReader& row = readers.of(RowTable::kCapture); row.next()) {
    fields(row, static_cast<CaptureRows&>(capture));
  }
  for (const RowReader& table : readers.all()) {
    if (!table.problem().empty()) {
      return fail(Errc::kBadData, table.problem());
    }
    if (table.rows_left() > 0) {
      return fail(Errc::kBadData, "it has rows that belong to no other row");
    }
  }
  return capture;
}

Column& RowWriter::column(std::string_view name) {
  if (next_ == known_.size() && next_ > 0 && known_.front().first == name.data()) {
    next_ = 0;
  }
  if (next_ == known_.size() || known_[next_].first != name.data()) {
    known_.resize(next_);
    const auto at = all_.table(table_).try_emplace(std::string(name)).first;
    known_.emplace_back(name.data(), &at->second);
  }
  return *known_[next_++].second;
}

TableWriters::TableWriters(Document& document) : document_(document) {
  for (const std::string& text : document_.strings) {
    ids_.emplace(text, StringId{static_cast<std::uint32_t>(ids_.size())});
  }
  writers_.reserve(kRowTables);
  for (std::size_t i = 0; i < kRowTables; ++i) {
    writers_.emplace_back(*this, static_cast<RowTable>(i));
  }
}

Table& TableWriters::table(RowTable table) {
  return document_.tables.try_emplace(std::string(facts_of(table).name)).first->second;
}

StringId TableWriters::id_of(const std::string& text) {
  const auto [at, fresh] =
      ids_.emplace(text, StringId{static_cast<std::uint32_t>(document_.strings.size())});
  if (fresh) {
    document_.strings.push_back(text);
  }
  return at->second;
}

Document to_document(const Capture& capture) {
  Document document;
  for (const std::string& text : capture.tables.strings()) {
    document.strings.push_back(text);
  }
  TableWriters writers(document);
  for (const Frame& frame : capture.tables.frames()) {
    fields(writers.of(RowTable::kFrames), frame);
  }
  for (const Stack& stack : capture.tables.stacks()) {
    fields(writers.of(RowTable::kStacks), stack);
  }
  const CaptureRows& rows = capture;
  fields(writers.of(RowTable::kCapture), rows);
  return document;
}

}  // namespace oddrank::snapshot
