#include "reach/wire/frames.h"

#include <zlib.h>

#include <algorithm>
#include <cctype>
#include <limits>
#include <optional>
#include <utility>

#include "base/hex.h"
#include "base/parse_number.h"
#include "base/printable.h"
#include "base/write_file.h"
#include "reach/wire/base64.h"

namespace oddrank::reach {
namespace {

constexpr std::string_view kMark = "@odd2 ";
constexpr std::string_view kDraft = "draft\n";  // neither a capture nor a note begins like that
constexpr std::size_t kMaxHost = 255;
constexpr std::size_t kMaxRun = 32;
constexpr std::size_t kMaxRefusals = 16;
constexpr std::string_view kNoRun = "-";
// A line without an end is cut here; no frame of ours is longer, and srun's own lines are short.
constexpr std::size_t kMaxLine = 16384;

std::uint32_t checksum(std::string_view text) {
  return static_cast<std::uint32_t>(
      ::crc32(0, reinterpret_cast<const Bytef*>(text.data()), static_cast<uInt>(text.size())));
}

bool host_byte(char byte) {
  return std::isalnum(static_cast<unsigned char>(byte)) != 0 || byte == '-' || byte == '.' ||
         byte == '_';
}

std::string clean_host(std::string_view host) {
  std::string clean(host.substr(0, kMaxHost));
  std::replace_if(
      clean.begin(), clean.end(), [](char byte) { return !host_byte(byte); }, '_');
  return clean.empty() ? "_" : clean;
}

void append_frame(std::string& lines,
                  const std::string& sender,
                  std::uint64_t sequence,
                  std::uint64_t total,
                  std::string_view bytes) {
  const std::string head = sender + std::to_string(sequence) + '/' + std::to_string(total) + ' ';
  const std::string body = base64_encode(bytes);
  lines += kMark;
  lines += head;
  lines += hex_number(checksum(head + body));
  lines += ' ';
  lines += body;
  lines += ".\n";
}

std::string head_of(const Sender& sender) {
  const std::string run = sender.run.empty() ? std::string(kNoRun) : clean_host(sender.run);
  return clean_host(sender.host) + ' ' + run.substr(0, kMaxRun) + ' ' + hex_number(sender.stream) +
         ' ';
}

// "3: text" -> 3, "text"; -1 and the whole line without such a label. srun pads the number with
// blanks once there are ten tasks or more.
std::pair<int, std::string_view> split_label(std::string_view line) {
  const auto start = std::min(line.find_first_not_of(' '), line.size());
  const auto colon = line.find(": ", start);
  if (colon == std::string_view::npos || colon - start > 7) {
    return {-1, line};
  }
  const auto label = parse_number<int>(line.substr(start, colon - start));
  if (!label || *label < 0) {
    return {-1, line};
  }
  return {*label, line.substr(colon + 2)};
}

// Removes the text up to `separator` from `rest` and returns it; returns nothing if there is no
// separator.
std::optional<std::string_view> take_until(std::string_view& rest, char separator) {
  const auto at = rest.find(separator);
  if (at == std::string_view::npos) {
    return std::nullopt;
  }
  const std::string_view taken = rest.substr(0, at);
  rest.remove_prefix(at + 1);
  return taken;
}

// Returns true if the text after a mark contains the end of its frame. (Host names may have dots.)
bool is_ended(std::string_view rest) {
  for (int field = 0; field < 5; ++field) {
    if (!take_until(rest, ' ')) {
      return false;
    }
  }
  return rest.find('.') != std::string_view::npos;
}

}  // namespace

struct FrameCollector::Frame {
  std::string_view host;
  std::string_view run;  // empty: none
  std::uint64_t stream = 0;
  std::uint64_t sequence = 0;
  std::uint64_t total = 0;
  std::string bytes;

  // `text` begins after the mark and may continue after the frame.
  static std::optional<Frame> parse(std::string_view text);

  // The sender's bytes arrived unchanged; they may still be nonsense.
  static std::optional<Frame> checked(std::string_view host,
                                      std::string_view stream,
                                      std::string_view sequence,
                                      std::string_view total,
                                      std::string_view body);
};

std::optional<FrameCollector::Frame> FrameCollector::Frame::parse(std::string_view text) {
  std::string_view rest = text;
  const auto host = take_until(rest, ' ');
  const auto run = take_until(rest, ' ');
  const auto stream = take_until(rest, ' ');
  const auto sequence = take_until(rest, '/');
  const auto total = take_until(rest, ' ');
  if (!host || !run || !stream || !sequence || !total) {
    return std::nullopt;
  }
  const auto head_size = static_cast<std::size_t>(rest.data() - text.data());
  const auto crc = take_until(rest, ' ');
  const auto body = take_until(rest, '.');
  if (!crc || !body) {
    return std::nullopt;
  }
  const auto expected = parse_number<std::uint32_t>(*crc, 16);
  std::string covered(text.substr(0, head_size));
  covered += *body;
  if (!expected || *expected != checksum(covered)) {
    return std::nullopt;
  }
  auto frame = checked(*host, *stream, *sequence, *total, *body);
  if (frame && *run != kNoRun) {
    frame->run = *run;
  }
  return frame;
}

std::optional<FrameCollector::Frame> FrameCollector::Frame::checked(std::string_view host,
                                                                    std::string_view stream,
                                                                    std::string_view sequence,
                                                                    std::string_view total,
                                                                    std::string_view body) {
  const auto stream_id = parse_number<std::uint64_t>(stream, 16);
  const auto number = parse_number<std::uint64_t>(sequence);
  const auto count = parse_number<std::uint64_t>(total);
  auto bytes = base64_decode(body);
  const bool host_is_good =
      !host.empty() && host.size() <= kMaxHost && std::all_of(host.begin(), host.end(), host_byte);
  if (!host_is_good || !stream_id || !number || !count || !bytes) {
    return std::nullopt;
  }
  if (*number >= *count && *count != 0) {
    return std::nullopt;
  }
  return Frame{host, {}, *stream_id, *number, *count, *std::move(bytes)};
}

std::uint64_t new_stream_id() {
  return parse_number<std::uint64_t>(random_word(), 16).value_or(0);
}

std::string unique_name() {
  return "oddrank-" + random_word();
}

std::string encode_hello(const Sender& sender) {
  std::string line;
  append_frame(line, head_of(sender), 0, 0, {});
  return line;
}

std::string encode_doing(const Sender& sender, std::string_view words) {
  std::string line;
  append_frame(line, head_of(sender), 0, 0, words.substr(0, kMaxDoing));
  return line;
}

std::string encode_frames(const Sender& sender, std::string_view payload) {
  const std::string head = head_of(sender);
  // Mark, head, two numbers of at most 20 digits with '/' and ' ', crc with ' ', ".\n".
  const std::size_t overhead = kMark.size() + head.size() + 42 + 9 + 2;
  const std::size_t bytes_a_frame = (kMaxFrameLine - overhead) / 4 * 3;
  const std::size_t total =
      std::max<std::size_t>((payload.size() + bytes_a_frame - 1) / bytes_a_frame, 1);
  std::string lines;
  lines.reserve(total * kMaxFrameLine);
  for (std::size_t i = 0; i < total; ++i) {
    append_frame(lines, head, i, total, payload.substr(i * bytes_a_frame, bytes_a_frame));
  }
  return lines;
}

std::string encode_draft(const Sender& sender, std::string_view payload) {
  Sender apart = sender;
  apart.stream = new_stream_id();
  return encode_frames(apart, std::string(kDraft) + std::string(payload));
}

FrameCollector::FrameCollector(FrameLimits limits, Speakers speakers)
    : limits_(limits), speakers_(std::move(speakers)) {
  for (std::string& host : speakers_.hosts) {
    host = clean_host(host);  // as its agent writes it
  }
}

void FrameCollector::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto end = bytes.find('\n');
    const std::string_view part = bytes.substr(0, end);
    const std::size_t room = kMaxLine - line_.size();
    line_ += part.substr(0, room);
    if (end == std::string_view::npos && part.size() <= room) {
      return;
    }
    take_line(line_);
    if (part.size() <= room) {
      line_.clear();
      bytes.remove_prefix(part.size() + 1);
    } else {
      // An arbitrary cut: the part that is kept contains any frame that was cut.
      line_.erase(0, line_.size() - kMaxFrameLine);
      bytes.remove_prefix(room);
    }
  }
}

void FrameCollector::finish() {
  if (!line_.empty()) {
    take_line(line_);
    line_.clear();
  }
}

void FrameCollector::take_line(std::string_view line) {
  const auto [label, text] = split_label(line);
  std::string joined;
  if (const auto half = halves_.find(label); half != halves_.end()) {
    joined = std::move(half->second) + std::string(text);
    halves_.erase(half);
  }
  const bool found = take_frames(joined.empty() ? text : joined, label);
  // A half may continue in a later line, but not once another frame has started.
  const bool only_half = !found && text.find(kMark) == std::string_view::npos;
  const bool begun = keep_half(only_half && !joined.empty() ? joined : text, label);
  if (!found && !begun) {
    keep_text(text, label);
  }
}

bool FrameCollector::take_frames(std::string_view text, int label) {
  bool found = false;
  // Every mark may be the start of a whole frame: the one before it may have been cut short.
  for (auto at = text.find(kMark); at != std::string_view::npos; at = text.find(kMark, at + 1)) {
    if (const auto frame = Frame::parse(text.substr(at + kMark.size()))) {
      add(*frame, label);
      found = true;
    }
  }
  return found;
}

// Returns true if the line ends within a frame or its mark, or contains a damaged frame.
bool FrameCollector::keep_half(std::string_view text, int label) {
  auto at = text.rfind(kMark);
  if (at == std::string_view::npos) {
    at = text.rfind(kMark.front());
    if (at == std::string_view::npos || !kMark.starts_with(text.substr(at))) {
      return false;
    }
  } else if (is_ended(text.substr(at + kMark.size()))) {
    return true;
  }
  if (text.size() - at < kMaxFrameLine && halves_.size() < limits_.labels) {
    halves_[label] = std::string(text.substr(at));
  }
  return true;
}

bool FrameCollector::may_speak(const Frame& frame, int label) {
  if (!speakers_.checked) {
    return true;
  }
  const auto& hosts = speakers_.hosts;
  const auto number = static_cast<std::size_t>(label);
  std::string speaker;
  if (hosts.size() == 1) {
    speaker = hosts.front();
  } else if (label >= 0 && number < hosts.size()) {
    speaker = hosts[number];
  } else if (const auto known = label_hosts_.find(label); known != label_hosts_.end()) {
    speaker = known->second;
  } else if (hosts.empty() && label >= 0 && hosts_.find(frame.host) == hosts_.end()) {
    speaker = frame.host;
  }
  const bool is_own = speaker == frame.host;
  if (is_own && (speakers_.run.empty() || speakers_.run == frame.run)) {
    return true;
  }
  const std::string who = !speaker.empty() ? speaker
                          : label >= 0     ? "task " + std::to_string(label)
                                           : "a line without a task's number";
  std::string words = is_own ? "an answer of " + who + " was dropped: it is of another run"
                             : "an answer of " + who + " was dropped: it claims to be from " +
                                   std::string(frame.host);
  if (refusals_.size() < kMaxRefusals &&
      std::find(refusals_.begin(), refusals_.end(), words) == refusals_.end()) {
    refusals_.push_back(std::move(words));
  }
  return false;
}

FrameCollector::Stream* FrameCollector::stream_of(const Frame& frame, int label) {
  const auto key = std::make_tuple(label, std::string(frame.host), frame.stream);
  if (const auto known = streams_.find(key); known != streams_.end()) {
    return &known->second;
  }
  if (streams_.size() >= limits_.streams) {
    return nullptr;
  }
  Stream& made = streams_[key];
  made.host = frame.host;
  made.label = label;
  hosts_.emplace(made.host, label);
  if (label >= 0 && label_hosts_.size() < limits_.labels) {
    label_hosts_.emplace(label, made.host);
  }
  return &made;
}

void FrameCollector::add(const Frame& frame, int label) {
  if (!may_speak(frame, label)) {
    return;
  }
  Stream* of_frame = stream_of(frame, label);
  if (of_frame == nullptr) {
    return;
  }
  Stream& stream = *of_frame;
  if (frame.total == 0 && !frame.bytes.empty()) {
    doing_[stream.host] = printable(frame.bytes, kMaxDoing);
  }
  if (frame.total == 0 || stream.done || stream.refused) {
    return;
  }
  stream.total = stream.total == 0 ? frame.total : stream.total;
  const bool news = frame.sequence >= stream.next && stream.later.count(frame.sequence) == 0;
  if (frame.total != stream.total || !news) {
    return;
  }
  // An empty frame in the middle also costs a map entry, so it counts too.
  const std::size_t cost = frame.bytes.size() + 64;
  if (stream.held + cost > limits_.payload || held_ + cost > limits_.total) {
    drop(stream);
    return;
  }
  stream.held += cost;
  held_ += cost;
  if (frame.sequence != stream.next) {
    stream.later.emplace(frame.sequence, frame.bytes);
    return;
  }
  stream.bytes += frame.bytes;
  ++stream.next;
  while (!stream.later.empty() && stream.later.begin()->first == stream.next) {
    stream.bytes += stream.later.begin()->second;
    stream.later.erase(stream.later.begin());
    ++stream.next;
  }
  if (stream.next == stream.total) {
    complete(stream);
  }
}

void FrameCollector::complete(Stream& stream) {
  Payload payload{stream.host, std::exchange(stream.bytes, {}), stream.label};
  payload.draft = payload.bytes.starts_with(kDraft);
  payload.bytes.erase(0, payload.draft ? kDraft.size() : 0);
  complete_.push_back(std::move(payload));
  held_ -= std::exchange(stream.held, 0);
  stream.done = true;
}

void FrameCollector::drop(Stream& stream) {
  stream.refused = true;
  stream.bytes = {};
  stream.later = {};
  held_ -= std::exchange(stream.held, 0);
}

void FrameCollector::keep_text(std::string_view line, int label) {
  const auto found = text_.find(label);
  if (found == text_.end() && text_.size() >= limits_.labels) {
    return;
  }
  std::string& kept = found == text_.end() ? text_[label] : found->second;
  const std::size_t room = limits_.text - std::min(limits_.text, kept.size());
  if (line.size() + 1 <= room) {
    kept += line;
    kept += '\n';
  }
}

std::string FrameCollector::doing_of(std::string_view host) const {
  const auto found = doing_.find(host);
  return found == doing_.end() ? std::string() : found->second;
}

std::vector<Payload> FrameCollector::take_complete() {
  return std::exchange(complete_, {});
}

std::vector<IncompletePayload> FrameCollector::incomplete() const {
  std::vector<IncompletePayload> missing;
  for (const auto& [key, stream] : streams_) {
    if (!stream.done) {
      missing.push_back({stream.host, stream.next + stream.later.size(), stream.total});
    }
  }
  return missing;
}

}  // namespace oddrank::reach
