#include "snapshot/format/encode_rows.h"

#include "snapshot/format/row_writer.h"

namespace oddrank::snapshot {

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
