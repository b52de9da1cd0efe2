// SPDX-License-Identifier: Apache-2.0
#include "apps/doctor/broker_walk.h"

#include <fmt/format.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <vector>

#include "apps/doctor/own_files.h"
#include "apps/doctor/tls_probe.h"
#include "apps/job/running_mark.h"
#include "core/clock.h"
#include "net/mqtt/name_lookup.h"
#include "net/mqtt/tcp_probe.h"

namespace weft::apps {
namespace {

Finding CheckPort(const BrokerWalk& walk, const std::vector<std::string>& addresses,
                  const Clock& clock, std::string& reachable) {
  const int64_t until_ns = clock.NowNs() + walk.timeout_ms * kNsPerMs;
  int error = 0;
  for (const std::string& address : addresses) {
    error = net::ProbeTcp(address, walk.broker.port, clock, until_ns, /*bell=*/-1);
    if (error != 0) continue;
    reachable = address;
    return Good(fmt::format("{} port {} takes connections", address, walk.broker.port));
  }
  const std::string place = fmt::format("{} port {}", addresses.front(), walk.broker.port);
  switch (error) {
    case ECONNREFUSED:
      return Bad(place + " refuses connections: nothing listens there",
                 "start the broker, or give its port with --broker HOST:PORT");
    case ETIMEDOUT:
      return Bad(place + " does not answer",
                 "see that the machine is up and that no firewall drops the port");
    case ENETUNREACH:
    case EHOSTUNREACH:
      return Bad("there is no way to " + place, "bring the network up");
    default:
      return Bad(place + ": " + std::strerror(error), "see that the network is up");
  }
}

Finding CheckNoTls(const BrokerWalk& walk, const std::string& address) {
  if (SpeaksPlainMqtt(address, walk.broker.port, walk.timeout_ms)) {
    if (OnThisMachine(walk.broker)) return Good("none, and none is needed on one's own machine");
    return Doubtful("none: everybody on the way can read and change what is sent",
                    "give --ca, --cert and --key, and the broker a port with TLS");
  }
  if (!ProbeTls(walk.broker, address, walk.timeout_ms).peer_name.empty()) {
    return Bad("the broker speaks TLS on this port, and no --ca is given",
               "give --ca, --cert and --key");
  }
  return Bad("no MQTT broker answers on this port",
             "give the broker's port with --broker HOST:PORT");
}

Finding CheckTls(const BrokerWalk& walk, const std::string& address) {
  const net::MqttSetting& broker = walk.broker;
  if (broker.ca_file.empty()) return CheckNoTls(walk, address);
  TlsAnswer answer = ProbeTls(broker, address, walk.timeout_ms);
  if (answer.verdict == TlsVerdict::kClosed &&
      SpeaksPlainMqtt(address, broker.port, walk.timeout_ms)) {
    answer.verdict = TlsVerdict::kNotTls;
  }
  const std::string& own = broker.certificate_file;
  const std::string refuses_own = "the broker refuses " + own + ": ";
  const char* const anew = "have a new one made (`weft cluster add`)";
  switch (answer.verdict) {
    case TlsVerdict::kGood:
      return Good(fmt::format("{}, the broker's certificate is valid until {}", answer.version,
                              DateText(answer.valid_until_s)));
    case TlsVerdict::kUnusable:
      return Bad(answer.words, "give the right files with --ca, --cert and --key");
    case TlsVerdict::kNotTls:
      return Bad("the broker does not speak TLS on this port",
                 "give the port with TLS, often 8883, or configure the broker for it");
    case TlsVerdict::kClosed:
      return Bad("the port hangs up at the first word of TLS",
                 "see that this is the broker's port with TLS, and look into the broker's log");
    case TlsVerdict::kSilent:
      return Bad(fmt::format("no answer to TLS within {} s", walk.timeout_ms / 1000.0),
                 "see that this is the broker's port, and that the broker does not hang");
    case TlsVerdict::kTooOld:
      return Bad("the broker has no TLS 1.2 or later", "set `tls_version tlsv1.2` in its file");
    case TlsVerdict::kWrongAuthority:
      return Bad(fmt::format("the broker's certificate ('{}') was not signed by {} ({})",
                             answer.peer_name, broker.ca_file, answer.words),
                 "give the ca.crt of the cluster this broker belongs to with --ca");
    case TlsVerdict::kExpired:
      return Bad(
          fmt::format("the broker's certificate expired on {}", DateText(answer.valid_until_s)),
          "renew it on the broker's machine, or set the clock here if that is wrong");
    case TlsVerdict::kNotYetValid:
      return Bad(fmt::format("the clock is not set: it says {}, and the broker's certificate is "
                             "valid from {} on",
                             DateText(std::time(nullptr)), DateText(answer.valid_from_s)),
                 "set the clock, as with `timedatectl set-ntp true`");
    case TlsVerdict::kWrongName:
      return Bad(fmt::format("the broker's certificate ('{}') is for another name than {}",
                             answer.peer_name, broker.host),
                 "give the name in the certificate with --broker, or have one made for this name "
                 "(`weft cluster renew --host`)");
    case TlsVerdict::kOwnMissing:
      return Bad("the broker asks for a certificate, and none is given", "give --cert and --key");
    case TlsVerdict::kOwnUnknown:
      return Bad(refuses_own + "it does not know who signed it",
                 std::string("use the certificate of this cluster, or ") + anew);
    case TlsVerdict::kOwnExpired:
      return Bad(refuses_own + "it has expired, or the broker's list of revoked ones has",
                 std::string(anew) + ", and see that the broker's clock is right");
    case TlsVerdict::kOwnRevoked:
      return Bad(refuses_own + "it was revoked", std::string("if that was a mistake, ") + anew);
    case TlsVerdict::kOwnRefused:
      return Bad(refuses_own + answer.words, anew);
    case TlsVerdict::kFailed:
      break;
  }
  return Bad("TLS fails: " + answer.words, "look into the broker's log");
}

Finding CheckIdentity(const BrokerWalk& walk, net::BrokerProbe& probe, const Clock& clock) {
  const Status status = probe.Connect(clock.NowNs() + walk.timeout_ms * kNsPerMs);
  if (status.ok() && probe.limits().most_qos < 1) {
    return Bad("the broker offers only QoS 0, and a job needs QoS 1",
               "set `max_qos 1` in the broker's file, or use another broker");
  }
  if (status.ok()) {
    return Good(fmt::format("the broker lets '{}' in", walk.identity));
  }
  const std::string& told = status.message();
  switch (probe.door_closed()) {
    case net::DoorClosed::kNotAuthorised:
      return Bad(told + ": not authorised",
                 walk.broker.certificate_file.empty()
                     ? "give --cert and --key, or let this user in (`allow_anonymous`)"
                     : "see that the broker has `use_identity_as_username true`");
    case net::DoorClosed::kBadUser:
      return Bad(told + ": bad user name or password",
                 "see that the broker has `use_identity_as_username true`, or knows this user");
    case net::DoorClosed::kBadClientId:
      return Bad(told, "take `clientid_prefixes` out of the broker's file");
    case net::DoorClosed::kNoVersion5:
      return Bad(told, "use a broker with MQTT 5, such as Mosquitto 2");
    case net::DoorClosed::kNoRoom:
      return Bad(told, "raise `max_connections` in the broker's file");
    case net::DoorClosed::kNo:
    case net::DoorClosed::kOther:
      break;
  }
  return Bad(told, "look into the broker's log");
}

}  // namespace

bool OnThisMachine(const net::MqttSetting& broker) {
  return broker.ca_file.empty() &&
         (broker.host == "localhost" || broker.host == "::1" || broker.host.starts_with("127."));
}

std::unique_ptr<net::BrokerProbe> WalkToBroker(Examination& exam, const BrokerWalk& walk,
                                               net::MqttSetting& probe_setting,
                                               const Clock& clock) {
  std::signal(SIGPIPE, SIG_IGN);  // a broker that hangs up is an answer
  const net::MqttSetting& broker = walk.broker;
  if (!broker.key_file.empty()) {
    exam.Check("key file", {"configuration"}, [&] {
      return walk.service.Look({broker.key_file}, ServiceView::Use::kRead,
                               [&] { return CheckKeyFile(broker.key_file); });
    });
  }
  const int64_t now_s = std::time(nullptr);
  exam.Check("clock", {"configuration"}, [&] { return CheckClock(broker, now_s); });
  if (!broker.ca_file.empty()) {
    exam.Check("certificate", {"configuration"}, [&] {
      std::vector<std::string> files = {broker.ca_file};
      if (!broker.certificate_file.empty()) files.push_back(broker.certificate_file);
      return walk.service.Look(
          files, ServiceView::Use::kRead,
          [&] { return CheckCertificate(broker, walk.identity, walk.identity_flag, now_s); },
          [&] { return CheckReadable(files); });
    });
  }
  std::vector<std::string> addresses;
  exam.Check("name", {"configuration"}, [&] {
    const int64_t until_ns = clock.NowNs() + walk.timeout_ms * kNsPerMs;
    net::NameLookup lookup(broker.host);
    Result<std::vector<std::string>> found =
        lookup.Addresses([&] { return clock.NowNs() >= until_ns; });
    if (!found.ok()) {
      return Bad(found.status().message(),
                 "give the broker's right name with --broker, or see to the name servers");
    }
    addresses = *found;
    return Good(broker.host + " is " + fmt::format("{}", fmt::join(addresses, ", ")));
  });
  std::string address;
  exam.Check("port", {"name"}, [&] { return CheckPort(walk, addresses, clock, address); });
  exam.Check("TLS", {"port", "clock", "certificate"}, [&] { return CheckTls(walk, address); });

  std::unique_ptr<net::BrokerProbe> probe;
  probe_setting = broker;
  probe_setting.client_id = "weft-doctor-" + broker.client_id;
  const bool in = exam.Check(kIdentity, {"TLS"}, [&] {
    if (const auto pid = WhoRunsAs(walk.broker_text, walk.identity)) {
      Finding finding = Doubtful(
          fmt::format("{} is running as '{}' (process {}), and the broker may give its place to "
                      "whoever comes with its name",
                      walk.program, walk.identity, *pid),
          "to check the rest, stop it first; its own log says how it fares");
      finding.in_the_way = walk.program + " is running";
      return finding;
    }
    probe = std::make_unique<net::BrokerProbe>(probe_setting, clock);
    return CheckIdentity(walk, *probe, clock);
  });
  if (!in) probe.reset();
  return probe;
}

}  // namespace weft::apps
