#include "common/wire/fields.hpp"

namespace cupel::wire {
namespace {

// The overloads below stand beside those of fields.hpp, not in front of them.
using cupel::wire::read;
using cupel::wire::write;

template <typename Init>
void write_leases(const std::vector<LiveLease>& leases, Init init) {
  auto list = init(static_cast<unsigned>(leases.size()));
  for (unsigned i = 0; i < list.size(); ++i) write(list[i], leases[i]);
}

void write(schema::Capacity::Builder out, const Capacity& value) {
  out.setSlots(value.slots);
  out.setMemoryBytes(value.memory_bytes);
  out.setDiskFreeBytes(value.disk_free_bytes);
  out.setDraining(value.draining);
  out.setBlocked(cut(value.blocked));
  out.setEnforcesEgress(value.enforces_egress);
  out.setUpstreamPaused(value.upstream_paused);
  put_texts(value.images, kNameBytesMax, [&](unsigned n) { return out.initImages(n); });
  auto toolchains = out.initToolchains(static_cast<unsigned>(value.toolchains.size()));
  for (unsigned i = 0; i < toolchains.size(); ++i) {
    toolchains[i].setIdentity(cut(value.toolchains[i].identity));
    toolchains[i].setGoVersion(cut(value.toolchains[i].go_version));
    toolchains[i].setWithoutCCompiler(!value.toolchains[i].c_compiler);
  }
}

void write(schema::Hello::Builder out, const Hello& value) {
  out.setProtocolMin(value.protocol_min);
  out.setProtocolMax(value.protocol_max);
  out.setWorker(value.worker.value);
  out.setIncarnation(value.incarnation.value);
  out.setVersion(cut(value.version));
  out.setHost(cut(value.host));
  out.setEngine(cut(value.engine));
  write(out.initCapacity(), value.capacity);
  write_leases(value.running, [&](unsigned n) { return out.initRunning(n); });
  write_leases(value.unacknowledged, [&](unsigned n) { return out.initUnacknowledged(n); });
  out.setBeat(value.beat);
}

void write(schema::Welcome::Builder out, const Welcome& value) {
  out.setProtocol(value.protocol);
  out.setSession(value.session);
  out.setFleet(value.fleet.value);
  out.setWorkerName(cut(value.worker_name));
  out.setHeartbeatMillis(value.heartbeat_ms);
  out.setLeaseMillis(value.lease_ms);
  write_leases(value.keep, [&](unsigned n) { return out.initKeep(n); });
  write_leases(value.cancel, [&](unsigned n) { return out.initCancel(n); });
  write_leases(value.resend, [&](unsigned n) { return out.initResend(n); });
  write_leases(value.forget, [&](unsigned n) { return out.initForget(n); });
  out.setBeat(value.beat);
}

std::vector<LiveLease> read_leases(capnp::List<schema::LiveLease>::Reader in, const char* what) {
  return list<LiveLease>(in, kLeasesMax, what,
                         [](schema::LiveLease::Reader item) { return read(item); });
}

Capacity read(schema::Capacity::Reader in) {
  Capacity value;
  value.slots = in.getSlots();
  value.memory_bytes = in.getMemoryBytes();
  value.disk_free_bytes = in.getDiskFreeBytes();
  value.draining = in.getDraining();
  value.blocked = text(in.getBlocked(), "capacity.blocked");
  value.images = texts(in.getImages(), "capacity.images");
  value.toolchains = list<Toolchain>(
      in.getToolchains(), kListMax, "capacity.toolchains", [](schema::Toolchain::Reader item) {
        return Toolchain{text(item.getIdentity(), "toolchain.identity"),
                         text(item.getGoVersion(), "toolchain.go_version"),
                         !item.getWithoutCCompiler()};
      });
  value.enforces_egress = in.getEnforcesEgress();
  value.upstream_paused = in.getUpstreamPaused();
  return value;
}

Hello read(schema::Hello::Reader in) {
  Hello value;
  value.protocol_min = in.getProtocolMin();
  value.protocol_max = in.getProtocolMax();
  value.worker = WorkerId{in.getWorker()};
  value.incarnation = Incarnation{in.getIncarnation()};
  value.version = text(in.getVersion(), "version");
  value.host = text(in.getHost(), "host");
  value.engine = text(in.getEngine(), "engine");
  value.capacity = read(in.getCapacity());
  value.running = read_leases(in.getRunning(), "running");
  value.unacknowledged = read_leases(in.getUnacknowledged(), "unacknowledged");
  value.beat = in.getBeat();
  return value;
}

LogTail read(schema::LogTail::Reader in) {
  LogTail value;
  value.task = TaskId{in.getTask()};
  value.token = Token{in.getToken()};
  value.check = word_from<CheckKind>(in.getCheck(), "check");
  value.stream = word_from<Stream>(in.getStream(), "stream");
  value.offset = in.getOffset();
  value.bytes = bytes(in.getBytes(), "bytes", kLogTailBytesMax);
  return value;
}

Welcome read(schema::Welcome::Reader in) {
  Welcome value;
  value.protocol = in.getProtocol();
  value.session = in.getSession();
  value.fleet = FleetId{in.getFleet()};
  value.worker_name = text(in.getWorkerName(), "worker_name");
  value.heartbeat_ms = in.getHeartbeatMillis();
  value.lease_ms = in.getLeaseMillis();
  value.keep = read_leases(in.getKeep(), "keep");
  value.cancel = read_leases(in.getCancel(), "cancel");
  value.resend = read_leases(in.getResend(), "resend");
  value.forget = read_leases(in.getForget(), "forget");
  value.beat = in.getBeat();
  return value;
}

Refuse read(schema::Refuse::Reader in) {
  return {errc_from(in.getCode()), text(in.getText(), "text"), in.getRetryAfterMillis()};
}

HeartbeatAck read(schema::HeartbeatAck::Reader in) {
  return {read_leases(in.getRenewed(), "renewed"), read_leases(in.getLost(), "lost"), in.getBeat()};
}

struct ToCoordinatorWriter {
  schema::Envelope::Builder out;
  void operator()(const Hello& value) { write(out.initHello(), value); }
  void operator()(const Heartbeat& value) {
    auto to = out.initHeartbeat();
    write(to.initCapacity(), value.capacity);
    write_leases(value.renew, [&](unsigned n) { return to.initRenew(n); });
    to.setBeat(value.beat);
  }
  void operator()(const ResultMessage& value) { write(out.initResult(), value.result); }
  void operator()(const LogTail& value) {
    auto to = out.initLogTail();
    to.setTask(value.task.value);
    to.setToken(value.token.value);
    to.setCheck(word<schema::CheckKind>(value.check));
    to.setStream(word<schema::Stream>(value.stream));
    to.setOffset(value.offset);
    to.setBytes(data(value.bytes));
  }
  void operator()(const Goodbye&) { out.setGoodbye(); }
};

struct ToWorkerWriter {
  schema::Envelope::Builder out;
  void operator()(const Welcome& value) { write(out.initWelcome(), value); }
  void operator()(const Refuse& value) {
    auto to = out.initRefuse();
    to.setCode(errc_number(value.code));
    to.setText(cut(value.text));
    to.setRetryAfterMillis(value.retry_after_ms);
  }
  void operator()(const Lease& value) {
    auto to = out.initLease();
    write(to.initSpec(), value.spec);
    to.setToken(value.token.value);
    to.setLeaseMillis(value.lease_ms);
    to.setBeat(value.beat);
  }
  void operator()(const HeartbeatAck& value) {
    auto to = out.initHeartbeatAck();
    write_leases(value.renewed, [&](unsigned n) { return to.initRenewed(n); });
    write_leases(value.lost, [&](unsigned n) { return to.initLost(n); });
    to.setBeat(value.beat);
  }
  void operator()(const ResultAck& value) {
    auto to = out.initResultAck();
    write(to.initLease(), value.lease);
    to.setAccepted(value.accepted);
  }
  void operator()(const CancelTask& value) { write(out.initCancelTask().initLease(), value.lease); }
  void operator()(const Drain& value) {
    auto to = out.initDrain();
    to.setOn(value.on);
    to.setDeadlineMillis(value.deadline_ms);
  }
  void operator()(const HelloAgain&) { out.setHelloAgain(); }
};

}  // namespace

void write(schema::LiveLease::Builder out, const LiveLease& value) {
  out.setTask(value.task.value);
  out.setToken(value.token.value);
}

LiveLease read(schema::LiveLease::Reader in) {
  return {TaskId{in.getTask()}, Token{in.getToken()}};
}

std::uint16_t errc_number(Errc code) {
  return static_cast<std::uint16_t>(code);
}

Errc errc_from(std::uint16_t number) {
  const auto code = static_cast<Errc>(number);
  return error_info(code).code == code ? code : Errc::refused_by_policy;
}

void write(schema::Envelope::Builder out, const ToCoordinator& message) {
  std::visit(ToCoordinatorWriter{out}, message);
}

void write(schema::Envelope::Builder out, const ToWorker& message) {
  std::visit(ToWorkerWriter{out}, message);
}

ToCoordinator read_to_coordinator(schema::Envelope::Reader in) {
  switch (in.which()) {
    case schema::Envelope::HELLO: return read(in.getHello());
    case schema::Envelope::HEARTBEAT: {
      const auto from = in.getHeartbeat();
      return Heartbeat{read(from.getCapacity()), read_leases(from.getRenew(), "renew"),
                       from.getBeat()};
    }
    case schema::Envelope::RESULT: return ResultMessage{read(in.getResult())};
    case schema::Envelope::LOG_TAIL: return read(in.getLogTail());
    case schema::Envelope::GOODBYE: return Goodbye{};
    default: throw_wrong_member(in);
  }
}

ToWorker read_to_worker(schema::Envelope::Reader in) {
  switch (in.which()) {
    case schema::Envelope::WELCOME: return read(in.getWelcome());
    case schema::Envelope::REFUSE: return read(in.getRefuse());
    case schema::Envelope::LEASE: {
      const auto from = in.getLease();
      return Lease{read(from.getSpec()), Token{from.getToken()}, from.getLeaseMillis(),
                   from.getBeat()};
    }
    case schema::Envelope::HEARTBEAT_ACK: return read(in.getHeartbeatAck());
    case schema::Envelope::RESULT_ACK: {
      const auto from = in.getResultAck();
      return ResultAck{read(from.getLease()), from.getAccepted()};
    }
    case schema::Envelope::CANCEL_TASK: return CancelTask{read(in.getCancelTask().getLease())};
    case schema::Envelope::DRAIN: {
      const auto from = in.getDrain();
      return Drain{from.getOn(), from.getDeadlineMillis()};
    }
    case schema::Envelope::HELLO_AGAIN: return HelloAgain{};
    default: throw_wrong_member(in);
  }
}

}  // namespace cupel::wire
