// SPDX-License-Identifier: Apache-2.0
#include "net/mqtt/mqtt_transport.h"

#include <poll.h>
#include <sys/prctl.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "core/rng.h"
#include "net/mqtt/mqtt_reasons.h"
#include "net/mqtt/mqtt_session.h"
#include "net/mqtt/name_lookup.h"
#include "net/mqtt/tcp_probe.h"

namespace weft::net {

namespace {

constexpr int64_t kFlushNs = 1'000 * kNsPerMs;
constexpr int64_t kLeaveNs = 300 * kNsPerMs;  // and this after the flush

// Waits until the clock shows `until_ns`, or the mailbox is to stop.
void Pause(const Clock& clock, Mailbox& mailbox, int64_t until_ns) {
  while (!mailbox.stopping()) {
    const int64_t left_ns = until_ns - clock.NowNs();
    if (left_ns <= 0) return;
    pollfd bell{.fd = mailbox.bell(), .events = POLLIN, .revents = 0};
    if (poll(&bell, 1, static_cast<int>(std::min<int64_t>(left_ns / kNsPerMs + 1, 1'000))) > 0) {
      mailbox.SilenceBell();
    }
  }
}

}  // namespace

Result<std::unique_ptr<MqttTransport>> MqttTransport::Create(const Clock& clock,
                                                             MqttSetting setting) {
  if (Status status = Validate(setting); !status.ok()) return status;
  return std::unique_ptr<MqttTransport>(new MqttTransport(clock, std::move(setting)));
}

MqttTransport::MqttTransport(const Clock& clock, MqttSetting setting)
    : clock_(clock),
      setting_(std::move(setting)),
      mailbox_(clock, setting_.outgoing_bytes, setting_.incoming_bytes),
      thread_([this] { Run(); }) {}

MqttTransport::~MqttTransport() {
  mailbox_.AskToStop();
  thread_.join();
}

void MqttTransport::Publish(const std::string& topic, Payload payload) {
  mailbox_.Publish(topic, std::move(payload));
}

void MqttTransport::Poll(TransportEvents& events, int64_t until_ns) {
  mailbox_.Poll(events, until_ns);
}

void MqttTransport::Renew(const std::string& why) { mailbox_.AskToRenew(why); }

void MqttTransport::Wake() { mailbox_.Wake(); }

int64_t MqttTransport::last_alive_ns() const { return mailbox_.last_alive_ns(); }

MqttCounts MqttTransport::counts() const { return mailbox_.counts(); }

void MqttTransport::Run() {
  prctl(PR_SET_NAME, "weft-mqtt");  // for whoever looks at what takes the processors
  Rng rng(setting_.seed);
  NameLookup names(setting_.host);
  int64_t pause_ms = setting_.least_pause_ms;
  while (!mailbox_.stopping()) {
    const int64_t began_ns = clock_.NowNs();
    const Status why = Connect(names);
    if (mailbox_.stopping()) return;
    mailbox_.Disconnected(why);
    // Only a connection that lasted starts the pauses over; one that the broker ends at once does
    // not get to hammer on its door.
    if (clock_.NowNs() - began_ns >= setting_.most_pause_ms * kNsPerMs) {
      pause_ms = setting_.least_pause_ms;
    }
    const int64_t pause_ns = pause_ms * kNsPerMs;
    Pause(clock_, mailbox_, clock_.NowNs() + rng.Between(pause_ns / 2, pause_ns));
    pause_ms = std::min(2 * pause_ms, setting_.most_pause_ms);
  }
}

Status MqttTransport::Connect(NameLookup& names) {
  mailbox_.Attempt();
  const int64_t until_ns = clock_.NowNs() + setting_.connect_timeout_ms * kNsPerMs;
  Result<std::vector<std::string>> addresses =
      names.Addresses([&] { return mailbox_.stopping() || clock_.NowNs() >= until_ns; });
  if (!addresses.ok()) return addresses.status();
  if (!setting_.ca_file.empty()) {
    // A certificate is for a name, so the library gets the name and looks it up once more, which
    // has just worked. It does not tell why it could not connect with TLS, so that is asked before.
    int error = 0;
    for (const std::string& address : *addresses) {
      error = ProbeTcp(address, setting_.port, clock_, until_ns, mailbox_.bell());
      if (error == 0 || mailbox_.stopping()) break;
    }
    if (error != 0) return SocketFailure(setting_, error);
    *addresses = {setting_.host};
  }

  Status status;
  for (const std::string& address : *addresses) {
    MqttSession session(setting_, clock_, mailbox_);
    bool reached = false;
    status = session.Open(address, until_ns, reached);
    if (status.ok()) {
      mailbox_.Connected(session.limits());
      status = session.Serve();
      if (mailbox_.renewal()) session.Close(0, clock_.NowNs() + kLeaveNs);
      if (status.ok()) {
        const int64_t flushed_ns = clock_.NowNs() + kFlushNs;
        session.Close(flushed_ns, flushed_ns + kLeaveNs);
      }
      return status;
    }
    if (mailbox_.stopping()) session.Close(0, clock_.NowNs() + kLeaveNs);
    if (reached || mailbox_.stopping()) return status;
  }
  return status;
}

}  // namespace weft::net
