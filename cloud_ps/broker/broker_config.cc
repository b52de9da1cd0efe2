// SPDX-License-Identifier: Apache-2.0
#include "cloud_ps/broker/broker_config.h"

#include <algorithm>

#include "net/topics.h"

namespace weft::ps {

namespace {

constexpr int64_t kMessageOverhead = 4'096;  // the message around a segment, and the broker's own
constexpr int64_t kLargestSmallTalk = 262'144;  // what is not a segment: a Welcome with its tables
constexpr int64_t kInFlight = 128;              // messages sent to one client ahead of its answers
constexpr int64_t kSmallMessages = 64;          // acknowledgements and the like, per worker
constexpr int64_t kBrokerItself = 16 << 20;
constexpr int64_t kPerClient = 256 << 10;  // socket, TLS, names
// Connections are counted before anybody has shown a certificate: so many may come to nothing, and
// of each the broker keeps at most so much.
constexpr int64_t kStrangers = 500;
constexpr int64_t kPerStranger = 64 << 10;

int64_t PacketBytes(const BrokerJob& job) {
  return std::max(job.segment_bytes, kLargestSmallTalk) + kMessageOverhead;
}

int64_t SegmentsInWindow(int64_t window_bytes, int64_t segment_bytes) {
  return (window_bytes + segment_bytes - 1) / segment_bytes;
}

int64_t MemoryBytes(const BrokerJob& job, int64_t window_bytes) {
  const int64_t segments = SegmentsInWindow(window_bytes, job.segment_bytes);
  const int64_t segment = job.segment_bytes + kMessageOverhead;
  // Stored once each: what the workers sent and the servers have not read, and the other way round.
  const int64_t stored = int64_t{2} * job.workers * job.shards * segments * segment;
  // Copied once more into packets for each client: to every server, and to every worker.
  const int64_t copied = (job.shards * std::min(job.workers * segments, kInFlight) +
                          job.workers * std::min(job.shards * segments, kInFlight)) *
                         segment;
  const int64_t clients = job.workers + job.shards;
  const int64_t half_read = clients * PacketBytes(job);
  return kBrokerItself + kStrangers * kPerStranger + clients * kPerClient + stored + copied +
         half_read;
}

std::string Sizes(int64_t bytes) { return std::to_string((bytes + (1 << 20) - 1) >> 20) + " MiB"; }

std::string Warning(const BrokerJob& job, int64_t memory_bytes) {
  std::string warning = std::to_string(job.workers) + " workers" +
                        (job.shards > 1 ? " of " + std::to_string(job.shards) + " servers" : "") +
                        " with windows of " + Sizes(job.window_bytes) +
                        " may fill the broker with " + Sizes(memory_bytes) +
                        ", more than its limit of " + Sizes(job.memory_limit_bytes) + ": ";
  int64_t fits = SegmentsInWindow(job.window_bytes, job.segment_bytes);
  while (fits > 0 && MemoryBytes(job, fits * job.segment_bytes) > job.memory_limit_bytes) --fits;
  return warning +
         (fits > 0 ? "windows of " + std::to_string(fits * job.segment_bytes) + " bytes would fit"
                   : "give it more, or have fewer workers or smaller segments");
}

std::string Config(const BrokerJob& job) {
  const int64_t segments = SegmentsInWindow(job.window_bytes, job.segment_bytes);
  std::string text = "# The broker of job " + job.job + ": " + std::to_string(job.workers) +
                     " workers, windows of " + std::to_string(job.window_bytes) + " bytes.\n";
  const auto line = [&text](const std::string& words) { text += words + "\n"; };
  if (job.tls) {
    line("listener " + std::to_string(job.port) + (job.address.empty() ? "" : " " + job.address));
    line("cafile " + job.tls->ca_file);
    line("certfile " + job.tls->certificate_file);
    line("keyfile " + job.tls->key_file);
    if (!job.tls->revoked_file.empty()) line("crlfile " + job.tls->revoked_file);
    line("tls_version tlsv1.2");
    line("require_certificate true");
    line("use_identity_as_username true");
    line("allow_anonymous false");
  } else {
    line("listener " + std::to_string(job.port) + " 127.0.0.1");
    line("allow_anonymous true");
  }
  line("# Nobody can take another's place by taking its client id.");
  line("use_username_as_clientid true");
  line("acl_file " + job.acl_path);
  if (!job.guard_file.empty()) {
    line("# Sends away who speaks an older MQTT, and for a minute whom a server finds to flood.");
    line("plugin " + job.guard_file);
  }
  line("# The servers and the devices keep what must not be lost.");
  line("persistence false");
  line("retain_available false");
  line("# Messages of the third kind are not ours, and were where brokers broke.");
  line("max_qos 1");
  line("queue_qos0_messages false");
  line("set_tcp_nodelay true");
  line("max_keepalive 60");
  line("max_packet_size " + std::to_string(PacketBytes(job)));
  line("max_inflight_messages " + std::to_string(kInFlight));
  line(
      "# A server's queue holds the windows of all workers, a worker's those of all servers; a "
      "full");
  line("# queue drops without a word.");
  const int64_t windows = std::max(job.workers, job.shards);
  line("max_queued_messages " + std::to_string(windows * (segments + kSmallMessages)));
  line("max_queued_bytes " +
       std::to_string(windows * (segments * (job.segment_bytes + kMessageOverhead) +
                                 kSmallMessages * kMessageOverhead)));
  line("# Servers, devices that come back before they were missed, and whoever finds the port.");
  line("max_connections " + std::to_string(2 * (job.workers + job.shards) + kStrangers));
  line("memory_limit " + std::to_string(job.memory_limit_bytes));
  return text;
}

std::string Acl(const BrokerJob& job) {
  constexpr net::Lane kUp[] = {net::Lane::kControl, net::Lane::kPush, net::Lane::kTelemetry};
  std::string devices;
  std::string servers;
  for (int shard = 0; shard < job.shards; ++shard) {
    const std::string level = net::JobLevel(job.job, shard, job.shards);
    const std::string user = ServerUser(shard, job.shards);
    servers += "\nuser " + user + "\n";
    for (const net::Lane up : kUp) {
      servers += "topic deny " + net::TopicOf(level, user, up) + "\n";  // a server is no device
      devices += "pattern write " + net::TopicOf(level, "%u", up) + "\n";
      servers += "topic read " + net::AllWorkers(level, up) + "\n";
    }
    devices += "pattern read " + net::TopicOf(level, "%u", net::Lane::kPull) + "\n";
    servers += "topic write " + net::AllWorkers(level, net::Lane::kPull) + "\n";
    servers += "topic readwrite " + net::ServersTopic(level) + "\ntopic read $SYS/broker/#\n";
    servers += std::string("topic write ") + net::kShutOutTopic + "\n";
  }
  std::string text = "# A device publishes and listens under its own name; the servers meet all.\n";
  text += devices + servers;
  for (const std::string& user : job.shut_out) text += "\nuser " + user + "\ntopic deny #\n";
  return text;
}

}  // namespace

std::string ServerUser(int shard, int shards) { return net::JobLevel(kServerUser, shard, shards); }

Result<BrokerPlan> PlanBroker(const BrokerJob& job) {
  if (!net::IsName(job.job)) return Status::InvalidInput("'" + job.job + "' is no name for a job");
  if (job.workers < 1 || job.workers > 100'000) {
    return Status::InvalidInput("a broker serves between 1 and 100000 workers");
  }
  if (job.shards < 1 || job.shards > 1'000) {
    return Status::InvalidInput("a job has between 1 and 1000 servers");
  }
  if (int64_t{job.workers} * job.shards > 100'000) {
    return Status::InvalidInput("a broker carries at most 100000 pairs of a worker and a server");
  }
  for (const std::string& user : job.shut_out) {
    if (!net::IsName(user)) return Status::InvalidInput("'" + user + "' is no name for a device");
  }
  // Within these the products below stay far from the end of int64.
  if (job.segment_bytes < 1 || job.segment_bytes > (128 << 20) ||
      job.window_bytes < job.segment_bytes || job.window_bytes > (int64_t{1} << 40)) {
    return Status::InvalidInput(
        "a segment has between 1 byte and 128 MiB, and a window holds at least one");
  }
  if (job.port < 1 || job.port > 65'535) {
    return Status::InvalidInput("the port is not between 1 and 65535");
  }
  if (job.memory_limit_bytes < 1) return Status::InvalidInput("the memory limit is not positive");
  std::string paths = job.acl_path + job.address + job.guard_file;
  if (job.tls) {
    if (job.tls->ca_file.empty() || job.tls->certificate_file.empty() ||
        job.tls->key_file.empty()) {
      return Status::InvalidInput("TLS needs a CA file, a certificate and a key");
    }
    paths +=
        job.tls->ca_file + job.tls->certificate_file + job.tls->key_file + job.tls->revoked_file;
  }
  if (job.acl_path.empty() || paths.find_first_of("\r\n") != std::string::npos) {
    return Status::InvalidInput("paths must be given, and be of one line");
  }

  BrokerPlan plan{
      .config = Config(job), .acl = Acl(job), .memory_bytes = MemoryBytes(job, job.window_bytes)};
  if (plan.memory_bytes > job.memory_limit_bytes) plan.warning = Warning(job, plan.memory_bytes);
  return plan;
}

}  // namespace weft::ps
