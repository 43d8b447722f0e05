#include "snapshot/carrier.h"

#include <type_traits>
#include <utility>

#include "snapshot/fields/row_fields.h"

namespace oddrank::snapshot {
namespace {

// Visits each field (fields/row_fields.h).
class Carrying {
 public:
  explicit Carrying(Carrier& carrier) : carrier_(carrier) {}

  template <typename T>
  void operator()(std::string_view name, T& value);
  template <typename T>
  void index(std::string_view /*name*/, const T& /*value*/, RowTable /*of*/) {}
  template <typename List>
  void rows(RowTable table, List& list, std::size_t most = 0);
  template <typename T>
  void maybe(RowTable table, Boxed<T>& box);
  template <typename T>
  void maybe(RowTable /*table*/, Rare<T>& box) {
    rare(box);
  }
  template <typename T>
  void rare(Rare<T>& facts);
  template <typename Fits>
  void check(const Fits& /*fits*/, const char* /*what*/) {}
  void shown(const ThreadCapture& /*thread*/) {}

 private:
  Carrier& carrier_;
};

template <typename T>
void Carrying::operator()(std::string_view /*name*/, T& value) {
  if constexpr (std::is_same_v<T, StringId>) {
    value = carrier_.string(value);
  } else if constexpr (std::is_same_v<T, StackId>) {
    value = carrier_.stack(value);
  } else if constexpr (std::is_same_v<T, std::string>) {
    carrier_.rewrite(value);
  }
}

template <typename List>
void Carrying::rows(RowTable /*table*/, List& list, std::size_t /*most*/) {
  if constexpr (std::is_same_v<List, SampleList>) {
    for (ThreadSample& row : list.stored()) {
      fields(*this, row);
    }
  } else {
    for (auto& row : list) {
      fields(*this, row);
    }
  }
}

template <typename T>
void Carrying::maybe(RowTable /*table*/, Boxed<T>& box) {
  if (box) {
    fields(*this, *box);
  }
}

template <typename T>
void Carrying::rare(Rare<T>& facts) {
  if (!facts.is_default()) {
    fields(*this, facts.edit());
  }
}

}  // namespace

Carrier::Carrier(const Tables& from, Tables& to) : Carrier(from, to, TextRewrites{}) {}

Carrier::Carrier(const Tables& from, Tables& to, TextRewrites rewrites)
    : from_(from),
      to_(to),
      rewrites_(std::move(rewrites)),
      strings_(from.strings().size(), kNotCarried),
      files_(strings_),
      names_(strings_),
      frames_(from.frames().size(), kNotCarried),
      stacks_(from.stacks().size(), kNotCarried) {}

StringId Carrier::carried(StringId id, Carried& known, const Rewrite& rewrite) {
  if (!from_.strings().contains(id)) {
    return StringId{};
  }
  std::uint32_t& one = known[static_cast<std::size_t>(id)];
  if (one == kNotCarried) {
    const std::string_view text = from_.text(id);
    one = static_cast<std::uint32_t>(rewrite ? to_.string(rewrite(text)) : to_.string(text));
  }
  return StringId{one};
}

FrameId Carrier::frame(FrameId id) {
  if (!from_.frames().contains(id)) {
    return to_.frame(Frame{});
  }
  std::uint32_t& known = frames_[static_cast<std::size_t>(id)];
  if (known == kNotCarried) {
    Frame frame = from_.frame(id);
    frame.function = carried(frame.function, names_, {});
    frame.file = carried(frame.file, files_, rewrites_.frame_file);
    frame.build_id = carried(frame.build_id, names_, {});
    frame.source = carried(frame.source, files_, rewrites_.frame_file);
    known = static_cast<std::uint32_t>(to_.frame(frame));
  }
  return FrameId{known};
}

StackId Carrier::stack(StackId id) {
  if (!from_.stacks().contains(id)) {
    return StackId{};
  }
  std::uint32_t& known = stacks_[static_cast<std::size_t>(id)];
  if (known == kNotCarried) {
    Stack stack = from_.stack(id);
    for (FrameId& frame_id : stack.frames) {
      frame_id = frame(frame_id);
    }
    known = static_cast<std::uint32_t>(to_.stack(stack));
  }
  return StackId{known};
}

void Carrier::rewrite(std::string& text) const {
  if (rewrites_.text) {
    text = rewrites_.text(text);
  }
}

template <typename Row>
Row Carrier::row(Row row) {
  Carrying carrying(*this);
  fields(carrying, row);
  return row;
}

template ProcessCapture Carrier::row(ProcessCapture);
template FlightRecord Carrier::row(FlightRecord);
template RasCommunicator Carrier::row(RasCommunicator);
template LogLine Carrier::row(LogLine);
template Device Carrier::row(Device);
template LinkPort Carrier::row(LinkPort);
template ResourceRequest Carrier::row(ResourceRequest);
template CollectiveState Carrier::row(CollectiveState);
template CaptureRows Carrier::row(CaptureRows);

}  // namespace oddrank::snapshot
