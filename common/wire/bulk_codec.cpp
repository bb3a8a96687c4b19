#include "common/wire/fields.hpp"

namespace cupel::wire {
namespace {

// The overloads below stand beside those of fields.hpp, not in front of them.
using cupel::wire::read;
using cupel::wire::write;

struct BulkToCoordinatorWriter {
  schema::Envelope::Builder out;
  void operator()(const PutBegin& value) {
    auto to = out.initPutBegin();
    to.setSession(value.session);
    to.setTransfer(value.transfer);
    write(to.initLease(), value.lease);
    to.setDigest(data(value.digest));
    to.setSize(value.size);
  }
  void operator()(const PutChunk& value) {
    auto to = out.initPutChunk();
    to.setSession(value.session);
    to.setTransfer(value.transfer);
    to.setOffset(value.offset);
    to.setBytes(data(value.bytes));
  }
  void operator()(const GetBegin& value) {
    auto to = out.initGetBegin();
    to.setSession(value.session);
    to.setTransfer(value.transfer);
    write(to.initLease(), value.lease);
    to.setDigest(data(value.digest));
    to.setOffset(value.offset);
  }
  void operator()(const GetCredit& value) {
    auto to = out.initGetCredit();
    to.setSession(value.session);
    to.setTransfer(value.transfer);
    to.setChunks(value.chunks);
  }
};

struct BulkToWorkerWriter {
  schema::Envelope::Builder out;
  void operator()(const PutReady& value) {
    auto to = out.initPutReady();
    to.setTransfer(value.transfer);
    to.setOffset(value.offset);
    to.setCredit(value.credit);
    to.setComplete(value.complete);
  }
  void operator()(const PutDone& value) { out.initPutDone().setTransfer(value.transfer); }
  void operator()(const GetChunk& value) {
    auto to = out.initGetChunk();
    to.setTransfer(value.transfer);
    to.setOffset(value.offset);
    to.setSize(value.size);
    to.setBytes(data(value.bytes));
  }
  void operator()(const BulkRefuse& value) {
    auto to = out.initBulkRefuse();
    to.setTransfer(value.transfer);
    to.setCode(errc_number(value.code));
    to.setText(cut(value.text));
  }
};

Digest needed_digest(capnp::Data::Reader in) {
  const Digest value = digest(in, "digest");
  if (value.empty()) throw Malformed{"digest is missing"};
  return value;
}

}  // namespace

void write(schema::Envelope::Builder out, const BulkToCoordinator& message) {
  std::visit(BulkToCoordinatorWriter{out}, message);
}

void write(schema::Envelope::Builder out, const BulkToWorker& message) {
  std::visit(BulkToWorkerWriter{out}, message);
}

BulkToCoordinator read_bulk_to_coordinator(schema::Envelope::Reader in) {
  switch (in.which()) {
    case schema::Envelope::PUT_BEGIN: {
      const auto from = in.getPutBegin();
      return PutBegin{from.getSession(), from.getTransfer(), read(from.getLease()),
                      needed_digest(from.getDigest()), from.getSize()};
    }
    case schema::Envelope::PUT_CHUNK: {
      const auto from = in.getPutChunk();
      return PutChunk{from.getSession(), from.getTransfer(), from.getOffset(),
                      bytes(from.getBytes(), "bytes", kBulkChunkBytes)};
    }
    case schema::Envelope::GET_BEGIN: {
      const auto from = in.getGetBegin();
      return GetBegin{from.getSession(), from.getTransfer(), read(from.getLease()),
                      needed_digest(from.getDigest()), from.getOffset()};
    }
    case schema::Envelope::GET_CREDIT: {
      const auto from = in.getGetCredit();
      return GetCredit{from.getSession(), from.getTransfer(), from.getChunks()};
    }
    default: throw_wrong_member(in);
  }
}

BulkToWorker read_bulk_to_worker(schema::Envelope::Reader in) {
  switch (in.which()) {
    case schema::Envelope::PUT_READY: {
      const auto from = in.getPutReady();
      return PutReady{from.getTransfer(), from.getOffset(), from.getCredit(), from.getComplete()};
    }
    case schema::Envelope::PUT_DONE: return PutDone{in.getPutDone().getTransfer()};
    case schema::Envelope::GET_CHUNK: {
      const auto from = in.getGetChunk();
      return GetChunk{from.getTransfer(), from.getOffset(), from.getSize(),
                      bytes(from.getBytes(), "bytes", kBulkChunkBytes)};
    }
    case schema::Envelope::BULK_REFUSE: {
      const auto from = in.getBulkRefuse();
      return BulkRefuse{from.getTransfer(), errc_from(from.getCode()),
                        text(from.getText(), "text")};
    }
    default: throw_wrong_member(in);
  }
}

}  // namespace cupel::wire
