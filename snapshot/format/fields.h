// The fields of each row of a capture file, once for both writing and reading: `io` is a RowWriter
// or a RowReader. A new field goes here, into docs/capture-format.md, and raises kCaptureFormat.
// Private to snapshot/.
#pragma once

#include <cstddef>
#include <string>

#include "snapshot/capture.h"

namespace oddrank::snapshot {

template <typename Io, typename Row>
void frame_fields(Io& io, Row& frame) {
  io("kind", frame.kind);
  io("flags", frame.flags);
  io("function", frame.function);
  io("file", frame.file);
  io("build_id", frame.build_id);
  io("line", frame.line);
  io("offset", frame.offset);
  io("source", frame.source);
}

template <typename Io, typename Row>
void stack_fields(Io& io, Row& stack) {
  io("end", stack.end);
  io("merge", stack.merge);
}

template <typename Io, typename Row>
void sample_fields(Io& io, Row& sample) {
  io("stack", sample.stack);
  io("python_stack", sample.python_stack);
  io("state", sample.state);
  io("cpu_us", sample.cpu_us);
  io("voluntary_switches", sample.voluntary_switches);
  io("involuntary_switches", sample.involuntary_switches);
}

// New in number 10.
template <typename Io, typename Row>
void sample_motion_fields(Io& io, Row& sample) {
  io("locals_changed", sample.locals_changed);
  io("stopped", sample.stopped);
  io("tracer", sample.tracer);
  io("tracer_name", sample.tracer_name);
}

template <typename Io, typename Row>
void wait_fields(Io& io, Row& wait) {
  io("wait_on", wait.on);
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
}

template <typename Io, typename Row>
void wait_ends_fields(Io& io, Row& facts) {
  io("wait_local", facts.local);
  io("wait_peer", facts.peer);
}

// New in number 9.
template <typename Io, typename Row>
void wait_facts_fields(Io& io, Row& wait) {
  io("wait_how", wait.how);
  io("wait_limited", wait.limited);
  io("wait_limit_ms", wait.limit_ms);
  io("lock_kind", wait.lock.kind);
  io("lock_owner", wait.lock.owner);
  io("lock_wish", wait.lock.wish);
  io("lock_inner", wait.lock.inner);
  io("lock_function", wait.lock.function);
  io("lock_owner_tid", wait.lock.owner_tid);
  io("lock_owner_pid", wait.lock.owner_pid);
  io("lock_readers", wait.lock.readers);
}

// New in number 9.
template <typename Io, typename Row>
void rare_wait_fields(Io& io, Row& facts) {
  io("wait_awaited_count", facts.awaited_count);
  io("wait_own_wakers", facts.own_wakers);
  io("wait_about", facts.about);
  io("wait_notes", facts.notes);
  io("wait_motion", facts.motion);
  io("pool_name", facts.pool.name);
  io("pool_meant", facts.pool.meant);
  io("pool_workers", facts.pool.workers);
}

// New in number 10.
template <typename Io, typename Row>
void loop_fields(Io& io, Row& loop) {
  io("frame", loop.frame);
  io("iterates", loop.iterates);
  io("cut", loop.cut);
}

template <typename Io, typename Row>
void loop_call_fields(Io& io, Row& call) {
  io("name", call.name);
  io("object", call.object);
}

template <typename Io, typename Row>
void awaited_file_fields(Io& io, Row& file) {
  io("fd", file.fd);
  io("link", file.link);
  io("local", file.local);
  io("peer", file.peer);
  io("state", file.state);
  io("store", file.store);
  io("tls", file.tls);
  io("unread", file.unread);
  io("unsent", file.unsent);
  io("sent_ms", file.sent_ms);
  io("received_ms", file.received_ms);
  io("note", file.note);
}

template <typename Io, typename Row>
void thread_fields(Io& io, Row& thread) {
  io("tid", thread.tid);
  io("name", thread.name);
  io("python_name", thread.python_name);
  io("has_python", thread.has_python);
  io("holds_gil", thread.holds_gil);
  io("wants_gil", thread.wants_gil);
  io("gil", thread.gil);
}

// New in number 12.
template <typename Io, typename Row>
void interpreter_fields(Io& io, Row& thread) {
  io("collects_garbage", thread.collects_garbage);
  io("ends_interpreter", thread.ends_interpreter);
}

template <typename Io, typename Row>
void call_fields(Io& io, Row& call) {
  io("kind", call.kind);
  io("op", call.op);
  io("group", call.group);
  io("label", call.label);
  io("whole_world", call.whole_world);
  io("members", call.members);
  io("root", call.root);
  io("peer", call.peer);
  io("sequence", call.sequence);
  io("evidence", call.evidence);
}

template <typename Io, typename Row>
void task_fields(Io& io, Row& task) {
  io("name", task.name);
  io("state", task.state);
  io("stack", task.stack);
  io("awaits", task.awaits);
}

template <typename Io, typename Row>
void group_fields(Io& io, Row& group) {
  io("name", group.name);
  io("label", group.label);
  io("backend", group.backend);
  io("is_default", group.is_default);
  io("members", group.members);
}

// New in number 11.
template <typename Io, typename Row>
void group_place_fields(Io& io, Row& group) {
  io("rank", group.rank);
  io("size", group.size);
}

template <typename Io, typename Row>
void group_counter_fields(Io& io, Row& counter) {
  io("backend", counter.backend);
  io("collectives", counter.collectives);
  io("transfers", counter.transfers);
  io("collectives_before", counter.collectives_before);
  io("transfers_before", counter.transfers_before);
  io("mixed", counter.mixed);
}

template <typename Io, typename Row>
void connection_fields(Io& io, Row& connection) {
  io("local", connection.local);
  io("peer", connection.peer);
}

template <typename Io, typename Row>
void transfer_fields(Io& io, Row& transfer) {
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

template <typename Io, typename Row>
void flight_record_fields(Io& io, Row& record) {
  io("rank", record.rank);
  io("node", record.node);
  io("pid", record.pid);
  io("source", record.source);
  io("version", record.version);
  io("written_us", record.written_us);
  io("cut", record.cut);
  io("has_entries", record.has_entries);
  io("shortened", record.shortened);
}

template <typename Io, typename Row>
void flight_group_fields(Io& io, Row& group) {
  io("name", group.name);
  io("description", group.description);
  io("members", group.members);
}

template <typename Io, typename Row>
void flight_entry_fields(Io& io, Row& entry) {
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
}

// The next three are new in number 11.
template <typename Io, typename Row>
void flight_memory_fields(Io& io, Row& record) {
  io("from_memory", record.from_memory);
}

template <typename Io, typename Row>
void flight_status_fields(Io& io, Row& group) {
  io("backend", group.backend);
  io("enqueued", group.enqueued);
  io("started", group.started);
  io("completed", group.completed);
}

template <typename Io, typename Row>
void flight_call_fields(Io& io, Row& entry) {
  io("transfer", entry.transfer);
  io("operation", entry.operation);
  io("timeout_ms", entry.timeout_ms);
  io("started_ns", entry.started_ns);
  io("completed_ns", entry.completed_ns);
  io("thread", entry.thread);
}

template <typename Io, typename Row>
void ras_communicator_fields(Io& io, Row& communicator) {
  io("node", communicator.node);
  io("hash", communicator.hash);
  io("version", communicator.version);
  io("size", communicator.size);
}

template <typename Io, typename Row>
void ras_rank_fields(Io& io, Row& rank) {
  io("rank", rank.rank);
  io("host", rank.host);
  io("told_pid", rank.told_pid);
  io("pid", rank.pid);
  io("device", rank.device);
  io("presence", rank.presence);
  io("init_state", rank.init_state);
  io("async_error", rank.async_error);
  io("leaving", rank.leaving);
  for (std::size_t at = 0; at < kRasOperations; ++at) {
    io("count_" + std::to_string(at), rank.counts[at]);
    io("later_" + std::to_string(at), rank.later[at]);
  }
}

template <typename Io, typename Row>
void log_line_fields(Io& io, Row& line) {
  io("node", line.node);
  io("kind", line.kind);
  io("rank", line.rank);
  io("sequence", line.sequence);
  io("op", line.op);
  io("text", line.text);
  io("source", line.source);
}

template <typename Io, typename Row>
void device_fields(Io& io, Row& device) {
  io("node", device.node);
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
}

template <typename Io, typename Row>
void link_port_fields(Io& io, Row& port) {
  io("node", port.node);
  io("device", port.device);
  io("port", port.port);
  io("state", port.state);
  io("physical", port.physical);
  io("rate", port.rate);
  io("link_downed", port.link_downed);
  io("errors", port.errors);
  io("transferred", port.transferred);
  io("transferred_later", port.transferred_later);
}

template <typename Io, typename Row>
void process_fields(Io& io, Row& process) {
  io("node", process.node);
  io("pid", process.pid);
  io("parent", process.parent);
  io("is_rank", process.is_rank);
  io("owner", process.owner);
  io("rank", process.rank);
  io("local_rank", process.local_rank);
  io("world_size", process.world_size);
  io("job_key", process.job_key);
  io("name", process.name);
  io("executable", process.executable);
  io("command", process.command);
  io("state", process.state);
  io("start_us", process.start_us);
  io("read_us", process.read_us);
  io("read", process.read);
  io("why", process.why);
  io("python_version", process.python_version);
  io("exit_code", process.exit_code);
  io("stopped", process.stopped);
  io("longest_stop_us", process.longest_stop_us);
}

// New in number 10.
template <typename Io, typename Row>
void ending_fields(Io& io, Row& process) {
  io("outlives_rank", process.outlives_rank);
  io("ending", process.ending);
  io("exception", process.exception);
}

// Rows of a table that only captures of crashed processes have.
template <typename Io, typename Row>
void crash_fields(Io& io, Row& crash) {
  io("signal", crash.signal);
  io("code", crash.code);
  io("address", crash.address);
  io("tid", crash.tid);
  io("sender", crash.sender);
  io("message", crash.message);
}

// New in number 13.
template <typename Io, typename Row>
void collection_fields(Io& io, Row& thread) {
  io("gc_generation", thread.gc_generation);
}

// New in number 12.
template <typename Io, typename Row>
void library_fields(Io& io, Row& process) {
  io("communicates", process.communicates);
}

}  // namespace oddrank::snapshot
