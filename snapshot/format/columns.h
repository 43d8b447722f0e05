// The body of a capture file: named tables of named integer columns, and one column of texts.
//
// A capture is thousands of small, similar rows. Stored by columns they compress to a fraction, and
// a reader needs to know only one shape: table -> column -> numbers. All numbers are signed 64-bit;
// an unsigned 64-bit value is stored as its two's complement. Private to snapshot/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace oddrank::snapshot {

// A document to be written.
using Column = std::vector<std::int64_t>;
using Table = std::map<std::string, Column, std::less<>>;

struct Document {
  std::map<std::string, Table, std::less<>> tables;
  std::vector<std::string> strings;
};

// Returns a document as CBOR: a map of maps of byte strings (packed_column.h).
std::string encode_document(const Document& document);

// A document as it was read. Names and texts point into its bytes. All columns share one array,
// since a capture has some hundred of them, and a job thousands of captures. Names of columns
// ascend.
struct ReadColumn {
  std::string_view name;
  std::size_t first = 0;  // in ReadDocument::numbers
  std::size_t size = 0;   // rows
  std::size_t step = 1;   // between the numbers of two rows; 0: all rows have the first number
};
struct ReadTable {
  std::string_view name;
  std::vector<ReadColumn> columns;
};
struct ReadDocument {
  std::vector<ReadTable> tables;
  std::vector<std::int64_t> numbers;
  std::vector<std::string_view> strings;
  std::shared_ptr<const std::string> bytes;  // shared by copies

  // Returns null if no table has that name.
  const ReadTable* table(std::string_view name) const;
};

// Reads a document. Fails with kBadData for other types, deeper nesting, names that do not ascend
// or more than `limit` values. Memory stays within a small multiple of the input.
Result<ReadDocument> decode_document(std::string cbor, std::size_t limit = std::size_t{1} << 28);

}  // namespace oddrank::snapshot
