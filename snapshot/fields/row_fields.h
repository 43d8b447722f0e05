// The fields of each row of a capture, defined once for everything that visits them: writing and
// reading a file (format/), carrying rows to other tables and masking their texts (carrier.h), and
// the list in docs/capture-columns.txt. A new field of a row needs no other
// change to the format.
//
// `io` is such a visitor. `io("tid", thread.tid)` is a value; `io.rows(table, list)` are rows of
// another table that belong to this row, `io.maybe(table, box)` is one such row or none;
// `io.rare(facts)` are values that nearly no row has; `io.index("node", value, table)` is the
// number of a row of that table; `io.check(fits, what)` refuses a file that breaks an assumption of
// the code behind it. A file that lacks a field, or has a value of an enumeration that this version
// does not know, has the field's default. Private to snapshot/.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include "snapshot/capture.h"
#include "snapshot/fields/row_table.h"

namespace oddrank::snapshot {

// A row of that type, const or not.
template <typename Row, typename T>
concept RowOf = std::same_as<std::remove_const_t<Row>, T>;

template <typename Row>
concept SingleValue = RowOf<Row, StringId> || RowOf<Row, FrameId> || RowOf<Row, std::int32_t> ||
    RowOf<Row, std::string>;

template <typename Io, SingleValue Row>
void fields(Io& io, Row& value) {
  io("value", value);
}

template <typename Io, RowOf<std::pair<StringId, StringId>> Row>
void fields(Io& io, Row& pair) {
  io("name", pair.first);
  io("value", pair.second);
}

template <typename Io, RowOf<Frame> Row>
void fields(Io& io, Row& frame) {
  io("kind", frame.kind);
  io("flags", frame.flags);
  io("function", frame.function);
  io("file", frame.file);
  io("build_id", frame.build_id);
  io("line", frame.line);
  io("offset", frame.offset);
  io("source", frame.source);
}

template <typename Io, RowOf<Stack> Row>
void fields(Io& io, Row& stack) {
  io("end", stack.end);
  io("merge", stack.merge);
  io.rows(RowTable::kStackFrames, stack.frames);
}

template <typename Io, RowOf<ThreadSample> Row>
void fields(Io& io, Row& sample) {
  io("stack", sample.stack);
  io("python_stack", sample.python_stack);
  io("state", sample.state);
  io("cpu_us", sample.cpu_us);
  io("voluntary_switches", sample.voluntary_switches);
  io("involuntary_switches", sample.involuntary_switches);
  io("locals_changed", sample.locals_changed);
  io("retried", sample.retried);
  io("stopped", sample.stopped);
  io("tracer", sample.tracer);
  io("tracer_name", sample.tracer_name);
}

template <typename Io, RowOf<AwaitedFile> Row>
void fields(Io& io, Row& file) {
  io("fd", file.fd);
  io("link", file.link);
  io("local", file.local);
  io("peer", file.peer);
  io("state", file.state);
  io("store", file.store);
  io("tls", file.tls);
  io("tells_end", file.tells_end);
  io("unread", file.unread);
  io("unsent", file.unsent);
  io("sent_ms", file.sent_ms);
  io("received_ms", file.received_ms);
  io("holder_pid", file.holder_pid);
  io("note", file.note);
}

template <typename Io, RowOf<KeptSocket> Row>
void fields(Io& io, Row& socket) {
  io("fd", socket.fd);
  io("link", socket.link);
  io("local", socket.local);
  io("peer", socket.peer);
  io("other_end", socket.other_end);
  io("holder_pid", socket.holder_pid);
}

template <typename Io, RowOf<AskedObjects> Row>
void asked_fields(Io& io, Row& asked, RowTable actors) {
  io("asked_known", asked.known);
  io("asked_tasks", asked.tasks);
  io("asked_others", asked.others);
  io.rows(actors, asked.actors, kMaxAskedActors);
}

template <typename Io, RowOf<RareWaitFacts> Row>
void fields(Io& io, Row& facts) {
  io("wait_local", facts.local);
  io("wait_peer", facts.peer);
  io("wait_other_end", facts.other_end);
  io("wait_awaited_count", facts.awaited_count);
  io("wait_awaited_ends", facts.awaited_ends);
  io("wait_own_wakers", facts.own_wakers);
  io("wait_feeds_loop", facts.feeds_loop);
  io("wait_about", facts.about);
  io("wait_key", facts.key);
  io("wait_notes", facts.notes);
  io("wait_motion", facts.motion);
  io("pool_name", facts.pool.name);
  io("pool_meant", facts.pool.meant);
  io("pool_workers", facts.pool.workers);
  io.rows(RowTable::kAwaitedFiles, facts.awaited, kMaxAwaited);
  io.rows(RowTable::kKeptSockets, facts.kept, kMaxKeptSockets);
  io.rows(RowTable::kPoolPids, facts.pool.pids, kMaxPoolPids);
  asked_fields(io, facts.asked, RowTable::kAskedActors);
}

template <typename Io, RowOf<Wait> Row>
void fields(Io& io, Row& wait) {
  io("wait_on", wait.on);
  io("wait_how", wait.how);
  io("wait_inferred", wait.inferred);
  io("wait_syscall", wait.syscall);
  io("wait_syscall_name", wait.syscall_name);
  io("wait_wchan", wait.wchan);
  io("wait_fd", wait.fd);
  io("wait_path", wait.path);
  io("wait_address", wait.address);
  io("wait_holder_pid", wait.holder_pid);
  io("wait_holder_tid", wait.holder_tid);
  io("wait_holder_alive", wait.holder_alive);
  io("wait_detail", wait.detail);
  io("wait_quiet_ms", wait.quiet_ms);
  io("wait_limited", wait.limited);
  io("wait_limit_ms", wait.limit_ms);
  io("lock_kind", wait.lock.kind);
  io("lock_owner", wait.lock.owner);
  io("lock_mode", wait.lock.mode);
  io("lock_inner", wait.lock.inner);
  io("lock_function", wait.lock.function);
  io("lock_owner_tid", wait.lock.owner_tid);
  io("lock_owner_pid", wait.lock.owner_pid);
  io("lock_readers", wait.lock.readers);
  io("lock_shared", wait.lock.shared);
  io.rare(wait.rare);
}

template <typename Io, RowOf<CollectiveCall> Row>
void fields(Io& io, Row& call) {
  io("kind", call.kind);
  io("op", call.op);
  io("group", call.group);
  io("label", call.label);
  io("whole_world", call.whole_world);
  io("members", call.members);
  io("root", call.root);
  io("peer", call.peer);
  io("peers", call.peers);
  io("tag", call.tag);
  io("wants_window", call.wants_window);
  io("has_windows", call.has_windows);
  io("sequence", call.sequence);
  io("evidence", call.evidence);
}

template <typename Io, RowOf<Local> Row>
void fields(Io& io, Row& local) {
  io("name", local.name);
  io("value", local.value);
}

template <typename Io, RowOf<FrameLocals> Row>
void fields(Io& io, Row& of_frame) {
  io("frame", of_frame.frame);
  io.rows(RowTable::kLocals, of_frame.locals);
}

template <typename Io, RowOf<LoopCall> Row>
void fields(Io& io, Row& call) {
  io("name", call.name);
  io("object", call.object);
  io("moves_on", call.moves_on);
  io("ends", call.ends);
  io("may_end", call.may_end);
}

template <typename Io, RowOf<PythonLoop> Row>
void fields(Io& io, Row& loop) {
  io("frame", loop.frame);
  io("iterates", loop.iterates);
  io("endless", loop.endless);
  io("cut", loop.cut);
  io("left", loop.left);
  io("left_before", loop.left_before);
  io("between_ms", loop.between_ms);
  io.rows(RowTable::kLoopCalls, loop.calls, kMaxLoopCalls);
}

template <typename Io, RowOf<LoopTurn> Row>
void fields(Io& io, Row& turn) {
  io("line", turn.line);
  io("left", turn.left);
  io("retries", turn.retries);
}

template <typename Io, RowOf<LineRange> Row>
void fields(Io& io, Row& range) {
  io("first", range.first);
  io("last", range.last);
}

template <typename Io, RowOf<FramePlace> Row>
void fields(Io& io, Row& place) {
  io("frame", place.frame);
  io.rows(RowTable::kTurns, place.turns, kMaxTurns);
  io.rows(RowTable::kPassedLines, place.passed, kMaxPassedRanges);
}

template <typename Io, RowOf<ThreadCapture> Row>
void fields(Io& io, Row& thread) {
  io("tid", thread.tid);
  io("name", thread.name);
  io("python_name", thread.python_name);
  io("has_python", thread.has_python);
  io("holds_gil", thread.holds_gil);
  io("wants_gil", thread.wants_gil);
  io("collects_garbage", thread.collects_garbage);
  io("gc_generation", thread.gc_generation);
  io("ends_interpreter", thread.ends_interpreter);
  io("gil", thread.gil);
  fields(io, thread.wait);
  io.rows(RowTable::kSamples, thread.samples);
  io.check([&thread] { return !thread.samples.empty(); }, "a thread without a sample");
  io.shown(thread);
  io.maybe(RowTable::kCalls, thread.call);
  io.rows(RowTable::kFrameLocals, thread.locals);
  io.rows(RowTable::kLoops, thread.loops, kMaxLoops);
  io.rows(RowTable::kPlaces, thread.places, kMaxPlaces);
}

template <typename Io, RowOf<AsyncTask> Row>
void fields(Io& io, Row& task) {
  io("name", task.name);
  io("state", task.state);
  io("stack", task.stack);
  io("awaits", task.awaits);
  io("tid", task.tid);
  io.rows(RowTable::kTaskMembers, task.members);
  asked_fields(io, task.asked, RowTable::kTaskActors);
  io("worker", task.worker);
  io("loop", task.loop);
  io("at_socket", task.at_socket);
  io("trio", task.trio);
  io.rows(RowTable::kTaskSockets, task.sockets, kMaxKeptSockets);
}

template <typename Io, RowOf<GroupCounter> Row>
void fields(Io& io, Row& counter) {
  io("backend", counter.backend);
  io("collectives", counter.collectives);
  io("transfers", counter.transfers);
  io("collectives_before", counter.collectives_before);
  io("transfers_before", counter.transfers_before);
  io("mixed", counter.mixed);
}

template <typename Io, RowOf<ProcessGroup> Row>
void fields(Io& io, Row& group) {
  io("name", group.name);
  io("label", group.label);
  io("backend", group.backend);
  io("is_default", group.is_default);
  io("members", group.members);
  io("met_at", group.met_at);
  io("rank", group.rank);
  io("size", group.size);
  io.rows(RowTable::kGroupCounters, group.counters);
}

template <typename Io, RowOf<Connection> Row>
void fields(Io& io, Row& connection) {
  io("local", connection.local);
  io("peer", connection.peer);
}

template <typename Io, RowOf<Transfer> Row>
void fields(Io& io, Row& transfer) {
  io("local", transfer.local);
  io("peer", transfer.peer);
  io("device", transfer.device);
  io("trouble", transfer.trouble);
  io("connecting", transfer.connecting);
  io("tries", transfer.tries);
  io("age_ms", transfer.age_ms);
  io("unsent", transfer.unsent);
  io("acknowledged", transfer.acknowledged);
  io("received", transfer.received);
  io("peer_pid", transfer.peer_pid);
}

template <typename Io, RowOf<ProxyTransfer> Row>
void fields(Io& io, Row& proxy) {
  io("group", proxy.group);
  io("rank", proxy.rank);
  io("peer", proxy.peer);
  io("size", proxy.size);
  io("sends", proxy.sends);
  io("index", proxy.index);
  io("early", proxy.early);
  io("channels", proxy.channels);
  io("still", proxy.still);
  io("posted", proxy.posted);
  io("passed", proxy.passed);
  io("done", proxy.done);
  io("end", proxy.end);
  io("network", proxy.network);
  io("device", proxy.device);
}

template <typename Io, RowOf<CollnetHead> Row>
void fields(Io& io, Row& head) {
  io("rail", head.rail);
  io("group", head.group);
  io("size", head.size);
  io("head", head.head);
  io("heads", head.heads);
  io("channels", head.channels);
  io("still", head.still);
  io("filled", head.filled);
  io("offered", head.offered);
  io("given", head.given);
  io("returned", head.returned);
  io("taken", head.taken);
  io("end", head.end);
  io("device", head.device);
}

template <typename Io, RowOf<BootstrapRoot> Row>
void fields(Io& io, Row& root) {
  io("size", root.size);
  io("awaited", root.awaited);
  io("came", root.came);
  io("absent", root.absent);
  io("unclear", root.unclear);
}

template <typename Io, RowOf<StoreKey> Row>
void fields(Io& io, Row& key) {
  io("name", key.name);
  io("waiting", key.waiting);
}

template <typename Io, RowOf<Crash> Row>
void fields(Io& io, Row& crash) {
  io("signal", crash.signal);
  io("code", crash.code);
  io("address", crash.address);
  io("tid", crash.tid);
  io("sender", crash.sender);
  io("message", crash.message);
}

template <typename Io, RowOf<ProcessCapture> Row>
void fields(Io& io, Row& process) {
  io.index("node", process.node, RowTable::kNodes);
  io("pid", process.pid);
  io("parent", process.parent);
  io("is_rank", process.is_rank);
  io("owner", process.owner);
  io("rank", process.rank);
  io("local_rank", process.local_rank);
  io("world_size", process.world_size);
  io("job_key", process.job_key);
  io("replica", process.replica);
  io("replica_rank", process.replica_rank);
  io("name", process.name);
  io("executable", process.executable);
  io("command", process.command);
  io("label", process.label);
  io("actor", process.actor);
  io("role", process.role);
  io("state", process.state);
  io("start_us", process.start_us);
  io("read_us", process.read_us);
  io("read", process.read);
  io("why", process.why);
  io("python_version", process.python_version);
  io("exit_code", process.exit_code);
  io("stopped", process.stopped);
  io("longest_stop_us", process.longest_stop_us);
  io("outlives_rank", process.outlives_rank);
  io("ending", process.ending);
  io("exception", process.exception);
  io("communicates", process.communicates);
  io("written_bytes", process.written_bytes);
  io("read_bytes", process.read_bytes);
  io.rows(RowTable::kEnvironment, process.environment);
  io.rows(RowTable::kSetup, process.setup);
  io.rows(RowTable::kGroups, process.groups);
  io.rows(RowTable::kConnections, process.connections);
  io.rows(RowTable::kTransfers, process.transfers);
  io.rows(RowTable::kProxies, process.proxies);
  io.rows(RowTable::kCollnetHeads, process.heads);
  io.rows(RowTable::kRoots, process.roots);
  io.rows(RowTable::kStoreKeys, process.store);
  io.maybe(RowTable::kCrashes, process.crash);
  io.rows(RowTable::kTasks, process.tasks);
  io.rows(RowTable::kThreads, process.threads);
}

template <typename Io, RowOf<FlightGroup> Row>
void fields(Io& io, Row& group) {
  io("name", group.name);
  io("description", group.description);
  io("members", group.members);
  io("backend", group.backend);
  io("enqueued", group.enqueued);
  io("started", group.started);
  io("completed", group.completed);
}

template <typename Io, RowOf<FlightEntry> Row>
void fields(Io& io, Row& entry) {
  io("record", entry.record);
  io("sequence", entry.sequence);
  io("created_ns", entry.created_ns);
  io("input_count", entry.input_count);
  io("output_count", entry.output_count);
  io("group", entry.group);
  io("op", entry.op);
  io("backend", entry.backend);
  io("input_sizes", entry.input_sizes);
  io("output_sizes", entry.output_sizes);
  io("input_types", entry.input_types);
  io("output_types", entry.output_types);
  io("place", entry.place);
  io("peer", entry.peer);
  io("state", entry.state);
  io("is_p2p", entry.is_p2p);
  io("retired", entry.retired);
  io("transfer", entry.transfer);
  io("operation", entry.operation);
  io("timeout_ms", entry.timeout_ms);
  io("started_ns", entry.started_ns);
  io("completed_ns", entry.completed_ns);
  io("thread", entry.thread);
}

template <typename Io, RowOf<FlightRecord> Row>
void fields(Io& io, Row& record) {
  io.index("node", record.node, RowTable::kNodes);
  io("rank", record.rank);
  io("pid", record.pid);
  io("source", record.source);
  io("version", record.version);
  io("written_us", record.written_us);
  io("cut", record.cut);
  io("has_entries", record.has_entries);
  io("shortened", record.shortened);
  io("from_memory", record.from_memory);
  io.rows(RowTable::kFlightGroups, record.groups);
  io.rows(RowTable::kFlightEntries, record.entries);
  io.check(
      [&record] {
        return std::all_of(
            record.entries.begin(), record.entries.end(),
            [&record](const FlightEntry& entry) { return entry.group < record.groups.size(); });
      },
      "a call belongs to a group that does not exist");
}

template <typename Io, RowOf<RasRank> Row>
void fields(Io& io, Row& rank) {
  static constexpr std::array<const char*, kRasOperations> kCounts = {
      "count_0", "count_1", "count_2", "count_3", "count_4"};
  static constexpr std::array<const char*, kRasOperations> kLater = {
      "later_0", "later_1", "later_2", "later_3", "later_4"};
  io("rank", rank.rank);
  io("host", rank.host);
  io("reported_pid", rank.reported_pid);
  io("pid", rank.pid);
  io("device", rank.device);
  io("presence", rank.presence);
  io("init_state", rank.init_state);
  io("async_error", rank.async_error);
  io("leaving", rank.leaving);
  for (std::size_t at = 0; at < kRasOperations; ++at) {
    io(kCounts[at], rank.counts[at]);
    io(kLater[at], rank.later[at]);
  }
}

template <typename Io, RowOf<RasCommunicator> Row>
void fields(Io& io, Row& communicator) {
  io.index("node", communicator.node, RowTable::kNodes);
  io("hash", communicator.hash);
  io("version", communicator.version);
  io("size", communicator.size);
  io.rows(RowTable::kRasRanks, communicator.ranks);
}

template <typename Io, RowOf<LogLine> Row>
void fields(Io& io, Row& line) {
  io.index("node", line.node, RowTable::kNodes);
  io("kind", line.kind);
  io("rank", line.rank);
  io("sequence", line.sequence);
  io("op", line.op);
  io("text", line.text);
  io("source", line.source);
  io.rows(RowTable::kLogBehind, line.behind);
}

template <typename Io, RowOf<Device> Row>
void fields(Io& io, Row& device) {
  io.index("node", device.node, RowTable::kNodes);
  io("index", device.index);
  io("name", device.name);
  io("utilization", device.utilization);
  io("memory_utilization", device.memory_utilization);
  io("power_mw", device.power_mw);
  io("power_limit_mw", device.power_limit_mw);
  io("memory_used_mib", device.memory_used_mib);
  io("memory_total_mib", device.memory_total_mib);
  io("clock_mhz", device.clock_mhz);
  io("ecc_errors", device.ecc_errors);
  io("pcie_width", device.pcie_width);
  io("clock_reasons", device.clock_reasons);
  io("nvlink_errors", device.nvlink_errors);
  io("nvlink_errors_later", device.nvlink_errors_later);
  io("pci", device.pci);
  io("xid", device.xid);
  io("xid_ago_s", device.xid_ago_s);
  io("xid_text", device.xid_text);
  io.rows(RowTable::kDevicePids, device.pids);
}

template <typename Io, RowOf<LinkPort> Row>
void fields(Io& io, Row& port) {
  io.index("node", port.node, RowTable::kNodes);
  io("device", port.device);
  io("port", port.port);
  io("state", port.state);
  io("physical", port.physical);
  io("rate", port.rate);
  io("link_downed", port.link_downed);
  io("errors", port.errors);
  io("errors_later", port.errors_later);
  io("transferred", port.transferred);
  io("transferred_later", port.transferred_later);
}

template <typename Io, RowOf<ResourceRequest> Row>
void fields(Io& io, Row& request) {
  io.index("node", request.node, RowTable::kNodes);
  io("is_group", request.is_group);
  io("shape", request.shape);
  io("pending_ms", request.pending_ms);
  io("said_ms", request.said_ms);
  io("lacks", request.lacks);
  io("asked", request.asked);
  io("free", request.free);
  io("total", request.total);
  io("source", request.source);
  io.rows(RowTable::kRequestHolders, request.holders);
}

template <typename Io, RowOf<CollectiveState> Row>
void fields(Io& io, Row& state) {
  io.rows(RowTable::kFlightRecords, state.flight);
  io.rows(RowTable::kRasCommunicators, state.ras);
  io.rows(RowTable::kLogLines, state.log);
  io.rows(RowTable::kDevices, state.devices);
  io.rows(RowTable::kLinkPorts, state.ports);
  io.rows(RowTable::kRequests, state.requests);
}

template <typename Io, RowOf<NodeCapture> Row>
void fields(Io& io, Row& node) {
  io("host", node.host);
  io("answered", node.answered);
  io("why", node.why);
  io("took_us", node.took_us);
  io.rows(RowTable::kExpectedRanks, node.expected_ranks);
  io.rows(RowTable::kNotes, node.notes);
}

// The only row of its table, which owns all others.
template <typename Io, RowOf<CaptureRows> Row>
void fields(Io& io, Row& capture) {
  io("id", capture.job.id);
  io("source", capture.job.source);
  io("name", capture.job.name);
  io("user", capture.job.user);
  io("state", capture.job.state);
  io("output_path", capture.job.output_path);
  io("world_size", capture.job.world_size);
  io("elapsed_s", capture.job.elapsed_s);
  io("time_left_s", capture.job.time_left_s);
  io.rows(RowTable::kJobHosts, capture.job.hosts);
  io.rows(RowTable::kJobNotes, capture.job.notes);
  io.rows(RowTable::kNodes, capture.nodes);
  io.rows(RowTable::kProcesses, capture.processes);
  fields(io, capture.collectives);
}

}  // namespace oddrank::snapshot
