// SPDX-License-Identifier: Apache-2.0
#include "tests/ps/server_driver.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "core/rng.h"
#include "net/codec/codec.h"

namespace weft::ps {
namespace {

std::vector<float> CopyOf(std::span<const float> floats) { return {floats.begin(), floats.end()}; }

net::WireLayout ThreeUnits() {
  return *net::WireLayout::Create({{"a", 5, 0}, {"b", 7, 3}, {"c", 4, 0}});
}

}  // namespace

bool SameBits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

int LogLines::Count(std::string_view word) const {
  return static_cast<int>(std::count_if(lines.begin(), lines.end(), [&](const std::string& line) {
    return line.find(word) != std::string::npos;
  }));
}

// ---- the disk

void MemoryKeeper::Append(const JournalRecord& record) {
  KeptEvent event{.kind = KeptEvent::Kind::kAppended, .round = record.round, .slice = record.slice};
  if (full || broken_) {
    broken_ = true;
    event.status = Status::Unavailable("the disk is full");
  } else {
    records.push_back({record.round, record.slice, CopyOf(record.mean), record.contributions});
  }
  events_.push_back(std::move(event));
}

void MemoryKeeper::Checkpoint(const Snapshot& snapshot) {
  KeptEvent event{.kind = KeptEvent::Kind::kCheckpointed, .round = snapshot.round};
  if (full) {
    broken_ = true;
    event.status = Status::Unavailable("the disk is full");
  } else {
    broken_ = false;
    states.push_back({snapshot.round, CopyOf(snapshot.values), CopyOf(snapshot.optimizer_state),
                      CopyOf(snapshot.older_values)});
    records_at_state = records.size();
  }
  events_.push_back(std::move(event));
}

std::vector<KeptEvent> MemoryKeeper::Poll() {
  if (slow) return {};
  return std::exchange(events_, {});
}

// ---- the server

ServerSetting ServerDriver::Usual() {
  return {.job = "job",
          .welcome = {.model = "toy",
                      .input = {1, 1, 1},
                      .classes = 2,
                      .rounds = 5,
                      .batch = 8,
                      .heartbeat_ms = 500,
                      .worker_timeout_ms = 3000,
                      .window_bytes = 1 << 20,
                      .segment_bytes = 64,
                      .model_hash = Hash()},
          .learning_rate = 0.05};
}

net::ModelHash ServerDriver::Hash() {
  net::ModelHash hash = {};
  hash[0] = std::byte{0xAB};
  return hash;
}

float ServerDriver::FirstValue(int64_t place) { return 0.25f * static_cast<float>(place) - 2.0f; }

std::vector<float> ServerDriver::Gradients(const std::string& name, int64_t round) {
  Rng rng(static_cast<uint64_t>(name.back()), static_cast<uint64_t>(round));
  std::vector<float> floats(static_cast<size_t>(kFloats));
  for (float& f : floats) f = static_cast<float>(rng.Fraction()) - 0.5f;
  return floats;
}

ServerDriver::ServerDriver(const ServerSetting& setting)
    : setting_(setting),
      layout_(ThreeUnits()),
      optimizer_(*train::Optimizer::Create(train::Sgd{.momentum = 0.9, .weight_decay = 1e-4})),
      paper_(clock) {
  Create(setting);
  const net::FloatRange part = layout_.Units(server_->units().first, server_->units().last);
  for (int64_t i = 0; i < part.size(); ++i) {
    server_->first_values()[static_cast<size_t>(i)] = FirstValue(part.begin + i);
  }
  const Status status = server_->Start();
  assert(status.ok());
  server_->Connected({.payload_bytes = 1 << 20});
  server_->Tick();
}

ServerDriver::ServerDriver(const ServerSetting& setting, const MemoryKeeper& before, size_t count)
    : setting_(setting),
      layout_(ThreeUnits()),
      optimizer_(*train::Optimizer::Create(train::Sgd{.momentum = 0.9, .weight_decay = 1e-4})),
      paper_(clock) {
  Create(setting);
  const Recovery recovery = server_->recovery();
  const MemoryKeeper::State& state = before.states.front();
  Status status = recovery.snapshot({.round = state.round,
                                     .values = state.values,
                                     .optimizer_state = state.optimizer,
                                     .older_values = state.older});
  for (size_t i = 0; i < count && status.ok(); ++i) {
    const MemoryKeeper::Kept& kept = before.records[i];
    status = recovery.record({.round = kept.round,
                              .slice = kept.slice,
                              .mean = kept.mean,
                              .contributions = kept.contributions});
  }
  if (status.ok()) status = server_->Start();
  assert(status.ok());
  keeper.states = {state};
  keeper.records.assign(before.records.begin(),
                        before.records.begin() + static_cast<std::ptrdiff_t>(count));
  server_->Connected({.payload_bytes = 1 << 20});
  server_->Tick();
}

ServerDriver::~ServerDriver() = default;

void ServerDriver::Create(const ServerSetting& setting) {
  auto server = Server::Create(setting, {.layout = layout_,
                                         .optimizer = optimizer_,
                                         .transport = paper_,
                                         .keeper = keeper,
                                         .parallel = serial_,
                                         .clock = clock,
                                         .log = Logger(log, LogLevel::kInfo)});
  assert(server.ok());
  server_ = std::move(*server);
}

std::vector<float> ServerDriver::values() const { return CopyOf(server_->values()); }

void ServerDriver::Pass(int64_t ns) {
  for (const int64_t end = clock.now + ns; clock.now < end;) {
    clock.now = std::min(end, clock.now + 100 * kNsPerMs);
    server_->Tick();
  }
}

// ---- workers

net::Header ServerDriver::HeaderOf(const std::string& worker, int64_t round,
                                   uint64_t incarnation) const {
  return {.job = setting_.job,
          .shard = static_cast<uint16_t>(setting_.shard),
          .shards = static_cast<uint16_t>(setting_.shards),
          .epoch = setting_.epoch,
          .round = round,
          .worker = worker,
          .incarnation = incarnation};
}

void ServerDriver::Say(const std::string& worker, net::Lane lane, const net::Message& message) {
  const std::string level = net::JobLevel(setting_.job, setting_.shard, setting_.shards);
  SayBytes(net::TopicOf(level, worker, lane), net::Encode(message).bytes());
}

void ServerDriver::SayBytes(const std::string& topic, std::span<const std::byte> bytes,
                            bool retained) {
  server_->Received(topic, net::Payload::CopyOf(bytes), retained);
  server_->Tick();
}

void ServerDriver::Hello(const std::string& worker, uint64_t incarnation, uint32_t batch) {
  Say(worker, net::Lane::kControl,
      {HeaderOf(worker, 0, incarnation),
       net::Hello{.model_hash = Hash(), .batch = batch, .software = "test"}});
}

int64_t ServerDriver::Join(const std::string& worker, uint64_t incarnation, uint32_t batch) {
  ForgetHeard();
  Hello(worker, incarnation, batch);
  const std::vector<net::Welcome> welcomes = HeardOf<net::Welcome>(worker);
  if (welcomes.empty()) return -1;
  const net::Welcome& welcome = welcomes.back();
  tickets_[worker] = welcome.ticket;
  Say(worker, net::Lane::kControl,
      {HeaderOf(worker, welcome.first_round, incarnation),
       net::Plan{.ticket = welcome.ticket, .ends = {}}});
  return welcome.first_round;
}

void ServerDriver::Leave(const std::string& worker, uint64_t incarnation) {
  Say(worker, net::Lane::kControl,
      {HeaderOf(worker, 0, incarnation), net::Goodbye{.kind = net::GoodbyeKind::kLeaving}});
}

net::Segment ServerDriver::SegmentOf(const std::string& worker, uint64_t sequence,
                                     const std::vector<float>& floats, int first, int last,
                                     int64_t begin, int64_t end) const {
  const net::FloatRange units = layout_.Units(first, last);
  const auto ticket = tickets_.find(worker);
  return {.kind = net::SegmentKind::kGradients,
          .ticket = ticket == tickets_.end() ? 0 : ticket->second,
          .sequence = sequence,
          .first_unit = static_cast<uint32_t>(first),
          .last_unit = static_cast<uint32_t>(last),
          .total = static_cast<uint64_t>(units.size()) * 4,
          .offset = static_cast<uint64_t>(begin) * 4,
          .data = std::as_bytes(std::span(floats).subspan(static_cast<size_t>(units.begin + begin),
                                                          static_cast<size_t>(end - begin)))};
}

std::vector<net::Segment> ServerDriver::Segments(const std::string& worker,
                                                 const std::vector<float>& floats) const {
  const auto [first, last] = server_->units();
  const int64_t most = static_cast<int64_t>(setting_.welcome.segment_bytes / 4);
  std::vector<net::Segment> segments;
  for (int64_t begin = 0; begin < server_->floats(); begin += most) {
    segments.push_back(SegmentOf(worker, segments.size() + 1, floats, first, last, begin,
                                 std::min(server_->floats(), begin + most)));
  }
  return segments;
}

void ServerDriver::PushSegment(const std::string& worker, int64_t round,
                               const net::Segment& segment, uint64_t incarnation) {
  Say(worker, net::Lane::kPush, {HeaderOf(worker, round, incarnation), segment});
}

void ServerDriver::Push(const std::string& worker, int64_t round, uint64_t incarnation) {
  const std::vector<float> floats = Gradients(worker, round);
  for (const net::Segment& segment : Segments(worker, floats)) {
    PushSegment(worker, round, segment, incarnation);
  }
}

std::vector<net::Message> ServerDriver::Heard(const std::string& worker) {
  const std::string level = net::JobLevel(setting_.job, setting_.shard, setting_.shards);
  const std::string topic = net::TopicOf(level, worker, net::Lane::kPull);
  std::vector<net::Message> heard;
  kept_.clear();
  std::erase_if(paper_.sheets, [&](Paper::Sheet& sheet) {
    if (sheet.topic != topic) return false;
    kept_.push_back(sheet.payload);
    auto decoded = net::Decode(sheet.payload.bytes());
    heard.push_back(std::get<net::Message>(std::move(decoded)));
    return true;
  });
  return heard;
}

std::vector<std::string> ServerDriver::ShutOut() const {
  std::vector<std::string> names;
  for (const Paper::Sheet& sheet : paper_.sheets) {
    if (sheet.topic != net::kShutOutTopic) continue;
    const std::span<const std::byte> bytes = sheet.payload.bytes();
    names.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  return names;
}

}  // namespace weft::ps
