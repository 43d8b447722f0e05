// Carries bytes through a pipe that mangles lines: a node's capture through srun's stdout.
//
// With -l, srun puts "3: " before every line and cuts lines at 1024 bytes; without -l, lines of
// several nodes run into each other; either way, other programs' warnings may come in between. When
// a task exits, the rest of SLURM's buffer is cut every 1024 bytes, regardless of lines (seen in
// 22.05 with payloads of megabytes: one or two short lines of each task were split in two). So a
// payload travels as short self-contained lines, and the halves of a cut line are joined by their
// label:
//
//   @odd2 HOST RUN STREAM SEQ/TOTAL CRC BASE64.
//
//   HOST    node name as SLURM knows it (SLURMD_NODENAME)
//   RUN the word that the agent was started with; "-" for none
//   STREAM  64-bit hex; new for every payload, so that two senders of one host do not mix
//   SEQ     0 .. TOTAL-1; TOTAL is the number of frames of the payload. 0/0: without
//           bytes "the sender has started"; with bytes the sender's current activity, in words
//   CRC     crc32 (zlib), hex, of "HOST RUN STREAM SEQ/TOTAL BASE64"
//
// A frame counts once, anywhere in a line and in any order. Text whose CRC is wrong is not a frame.
// A payload that lacks a frame is never passed on, but listed as incomplete. A payload that begins
// with "draft" and a newline is its sender's result so far.
//
// A job's own processes may write to the same pipe, and a node may lie. So a frame counts only for
// the node that it came from (by SLURM's label, or the ssh connection), and only with the word of
// this run (Speakers); others are dropped, and listed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/result.h"

namespace oddrank::reach {

inline constexpr std::size_t kMaxFrameLine = 900;  // newline included

// Returns a new id at every call, also across processes of several pid namespaces.
std::uint64_t new_stream_id();
// Returns "oddrank-" and such an id: a unique name for a file or folder.
std::string unique_name();

// Who the sender claims to be.
struct Sender {
  std::string host;  // bytes that are invalid in host names become '_'; cut at 255 bytes
  std::uint64_t stream = 0;
  std::string run = {};  // as --run gave it; empty: none
};

// Returns the first bytes that a sender writes.
std::string encode_hello(const Sender& sender);
inline constexpr std::size_t kMaxDoing = 120;
// Returns the bytes for a sender whose payload will come later than usual: the reason in a few
// words, cut at kMaxDoing.
std::string encode_doing(const Sender& sender, std::string_view words);
// Returns all frames of a payload (an empty one has one frame).
std::string encode_frames(const Sender& sender, std::string_view payload);
// Returns the frames of a draft, in a separate stream.
std::string encode_draft(const Sender& sender, std::string_view payload);

// The senders whose frames count on one pipe. By default all, for any host and run.
struct Speakers {
  std::string run = {};  // frames must carry this word; empty: any
  // Lines with label N come from hosts[N]; with one host, all lines come from it. If empty, a label
  // belongs to the first host that it names, and a host to one label.
  std::vector<std::string> hosts = {};
  bool checked = false;  // false: all senders count
};

struct FrameLimits {
  std::size_t payload = std::size_t{128} << 20;  // bytes of one payload
  std::size_t total = std::size_t{1} << 30;      // bytes of all payloads in transit
  std::size_t streams = 65536;
  std::size_t text = std::size_t{16} << 10;  // bytes of other lines kept for each label
  std::size_t labels = 8192;
};

struct Payload {
  std::string host;
  std::string bytes;
  int label = -1;  // task number that srun -l put before it; -1 without
  bool draft = false;
};

struct IncompletePayload {
  std::string host;
  std::uint64_t received = 0;  // frames
  std::uint64_t total = 0;     // 0: only the hello came
};

// Collects payloads from the bytes of one pipe, in chunks of any size.
class FrameCollector {
 public:
  explicit FrameCollector(FrameLimits limits = {}, Speakers speakers = {});

  void feed(std::string_view bytes);
  // Takes the last line at the end of the pipe, even without a newline.
  void finish();

  // Returns payloads that became complete since the last call.
  std::vector<Payload> take_complete();
  // Returns senders whose hello or first frame has arrived but whose payload is incomplete; a host
  // may have several senders.
  std::vector<IncompletePayload> incomplete() const;
  // Returns true once a hello, a frame or a payload of this host has arrived.
  bool heard_of(std::string_view host) const { return hosts_.find(host) != hosts_.end(); }
  // Returns the last activity that a sender of this host reported; "" if none did. Printable, and
  // at most kMaxDoing bytes.
  std::string doing_of(std::string_view host) const;
  // Returns task number -> host, as known from frames; -1 is the label of lines without one.
  const std::map<int, std::string>& hosts_of_labels() const { return label_hosts_; }
  // Returns a sentence for each sender whose frames were dropped.
  const std::vector<std::string>& refusals() const { return refusals_; }
  // Returns lines without a frame or part of one, by label: the first limits.text bytes of each.
  const std::map<int, std::string>& text() const { return text_; }

 private:
  struct Stream {
    std::string host;
    std::uint64_t total = 0;                     // 0: not known yet
    std::uint64_t next = 0;                      // frames 0 .. next-1 are in `bytes`
    std::string bytes;                           // decoded
    std::map<std::uint64_t, std::string> later;  // arrived early
    std::size_t held = 0;                        // bytes here and in `later`
    bool done = false;
    bool refused = false;  // over a limit
    int label = -1;
  };
  struct Frame;

  void take_line(std::string_view line);
  bool take_frames(std::string_view text, int label);
  bool keep_half(std::string_view text, int label);
  // Returns whether the frame counts; if not, notes why.
  bool may_speak(const Frame& frame, int label);
  // Returns the stream of a frame, a new one if it is its first; null if there are too many.
  Stream* stream_of(const Frame& frame, int label);
  void add(const Frame& frame, int label);
  void complete(Stream& stream);
  void drop(Stream& stream);
  void keep_text(std::string_view line, int label);

  FrameLimits limits_;
  Speakers speakers_;
  std::vector<std::string> refusals_;
  std::string line_;  // incomplete
  // By label, host and stream, so that no sender adds to the frames of another one.
  std::map<std::tuple<int, std::string, std::uint64_t>, Stream> streams_;
  std::map<std::string, int, std::less<>> hosts_;
  std::map<std::string, std::string, std::less<>> doing_;  // by host
  std::map<int, std::string> label_hosts_;
  std::map<int, std::string> text_;
  std::map<int, std::string> halves_;  // beginning of a frame at the end of a label's last line
  std::vector<Payload> complete_;
  std::size_t held_ = 0;
};

}  // namespace oddrank::reach
