// SPDX-License-Identifier: Apache-2.0
// Tensors through a real broker across an emulated link.
#include "apps/weft/own_broker.h"
#include "bench/transport_bench.h"
#include "core/clock.h"
#include "net/link/link_pair.h"
#include "tests/apps/typed.h"
#include "tests/link/real_network.h"

#include <CppUTest/TestHarness.h>

namespace weft::net {

namespace {

// 50 Mb/s and 2 ms each way, messages of 64 KiB from the edge to the cloud.
void Run(bool tls) {
  const LinkSetting line = {.rate_bps = 50'000'000, .delay_ns = 2'000'000};
  const auto pair = LinkPair::Create(FreshName(), line, line, 1500, 1);
  CHECK_TEXT(pair.ok(), pair.status().message().c_str());
  const std::string address = LinkPair::kCloudAddress;
  const auto broker =
      apps::OwnBroker::Start({.place = pair->cloud.get(), .address = address, .tls = tls});
  CHECK_TEXT(broker.ok(), broker.status().message().c_str());
  const SteadyClock clock;
  const bench::TransportEnds ends = {.sender = pair->edge.get(), .receiver = pair->cloud.get()};
  const double most = 50e6 / 8 * 1448 / 1500;
  double tcp = 0;
  // A machine that is busy with other things is late now and then, but not each time.
  for (int i = 0; i < 4 && tcp < 0.9 * most; ++i) {
    const auto stream = bench::BenchTcpStream(clock, address, 3'000'000, ends);
    CHECK_TEXT(stream.ok(), stream.status().message().c_str());
    tcp = *stream;
    CHECK_TEXT(tcp < 1.1 * most, std::to_string(tcp).c_str());  // its clock may be late, too
  }
  CHECK_TEXT(tcp > 0.9 * most, std::to_string(tcp).c_str());

  MqttSetting client = {.host = address, .port = 1883, .ca_file = (*broker)->ca_file()};
  client.client_id = "up";
  MqttSetting other = client;
  other.client_id = "down";
  const auto result = bench::BenchTransport(
      clock, client, other, "weft/bench/up/push",
      {.message_bytes = {1 << 16}, .stream_bytes = 3 << 20, .window_bytes = 1 << 20, .singles = 5},
      ends);
  CHECK_TEXT(result.ok(), result.status().message().c_str());
  const bench::MessageSizeResult& size = result->sizes[0];
  CHECK_TEXT(size.stream_bytes_per_s > 0.75 * tcp && size.stream_bytes_per_s < 1.1 * most,
             std::to_string(size.stream_bytes_per_s / tcp).c_str());
  // One message: its bits' time and the way.
  const double least_ns = 65'536 / most * 1e9 + 2e6;
  CHECK_TEXT(static_cast<double>(size.single_ns) > 0.97 * least_ns,
             std::to_string(size.single_ns).c_str());
}

}  // namespace

TEST_GROUP(LinkTransport){};

TEST(LinkTransport, TensorsCrossNearTheRateOfTcp) {
  if (!NoRealNetworksHere()) Run(false);
}

TEST(LinkTransport, TlsCostsLittleOnALink) {
  if (!NoRealNetworksHere()) Run(true);
}

TEST(LinkTransport, ABrokerThatDoesNotStartSaysWhy) {
  if (NoRealNetworksHere()) return;
  const auto place = NetworkNamespace::Create(FreshName());
  CHECK(place.ok());
  const auto broker = apps::OwnBroker::Start({.place = place->get(), .address = "192.0.2.1"});
  CHECK(broker.status().code() == StatusCode::kUnavailable);
  STRCMP_CONTAINS("mosquitto does not start: ", broker.status().message().c_str());
  CHECK(broker.status().message().find('\n') == std::string::npos);
}

TEST(LinkTransport, FlagsThatDoNotGoTogetherAreOneSentence) {
  CHECK(apps::IsOneLineRefusal(apps::Type({"bench", "transport", "--tls", "--broker", "a:1"})));
  CHECK(apps::IsOneLineRefusal(
      apps::Type({"bench", "transport", "--link-mbps", "10", "--broker", "a:1"})));
  CHECK(apps::IsOneLineRefusal(apps::Type({"bench", "transport", "--link-mbps", "0"})));
  CHECK(apps::IsOneLineRefusal(apps::Type({"bench", "transport", "--link-mbps", "0.0001"})));
}

}  // namespace weft::net
