// SPDX-License-Identifier: Apache-2.0
#include "apps/weft/transport_bench_command.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

#include "apps/terminal/command_line.h"
#include "apps/terminal/text.h"
#include "apps/weft/own_broker.h"
#include "apps/weft/stop_signals.h"
#include "bench/transport_bench.h"
#include "core/clock.h"
#include "net/link/link_pair.h"
#include "net/link/link_script.h"

namespace weft::apps {
namespace {

// One way through the broker.
struct Way {
  std::string name;  // empty: there is only one
  double tcp_bytes_per_s = 0;
  bench::TransportResult result;
};

nlohmann::json WayJson(const Way& way) {
  nlohmann::json sizes = nlohmann::json::array();
  for (const bench::MessageSizeResult& size : way.result.sizes) {
    sizes.push_back({{"bytes", size.message_bytes},
                     {"bytes_per_s", size.stream_bytes_per_s},
                     {"single_ns", size.single_ns}});
  }
  return {{"sizes", sizes},
          {"tcp_bytes_per_s", way.tcp_bytes_per_s},
          {"message_ns", way.result.message_ns},
          {"bytes_per_s", way.result.bytes_per_s}};
}

std::string WayText(const Way& way) {
  const auto rate = [](double bytes_per_s) {
    return fmt::format("{:.{}f}", bytes_per_s / 1e6, bytes_per_s < 100e6 ? 2 : 0);
  };
  Table table(
      {way.name.empty() ? "message" : way.name + ", message", "MB/s", "of TCP", "one at a time"});
  for (const bench::MessageSizeResult& size : way.result.sizes) {
    table.Add({BytesText(size.message_bytes), rate(size.stream_bytes_per_s),
               PercentText(100 * size.stream_bytes_per_s / way.tcp_bytes_per_s),
               TimeText(size.single_ns)});
  }
  return table.Text() +
         fmt::format(
             "\nbare TCP {} MB/s; a message costs {} and its bytes go at {} MB/s, one at a "
             "time\n",
             rate(way.tcp_bytes_per_s), TimeText(static_cast<int64_t>(way.result.message_ns)),
             rate(way.result.bytes_per_s));
}

Result<Way> Measure(const std::string& name, const net::MqttSetting& broker,
                    const std::string& tcp_address, int64_t tcp_bytes,
                    const bench::TransportLoad& load, const bench::TransportEnds& ends) {
  const SteadyClock clock;
  Way way{.name = name};
  const Result<double> tcp = bench::BenchTcpStream(clock, tcp_address, tcp_bytes, ends);
  if (!tcp.ok()) return tcp.status();
  way.tcp_bytes_per_s = *tcp;
  net::MqttSetting publisher = broker;
  net::MqttSetting subscriber = broker;
  publisher.client_id = publisher.username = "bench-up";
  subscriber.client_id = subscriber.username = "bench-down";
  Result<bench::TransportResult> result =
      bench::BenchTransport(clock, publisher, subscriber, "weft/bench/bench-up/push", load, ends);
  if (!result.ok()) return result.status();
  way.result = std::move(*result);
  return way;
}

// To a broker that is there already.
Status RunHere(const TransportBenchFlags& flags, Console& console) {
  const Result<net::MqttSetting> broker = BrokerSetting(flags.broker);
  if (!broker.ok()) return broker.status();
  const Result<Way> way = Measure("", *broker, flags.tcp_address, int64_t{1} << 30, {}, {});
  if (!way.ok()) return way.status();
  if (flags.json) {
    console.out << WayJson(*way) << "\n";
  } else {
    console.out << WayText(*way);
  }
  return Status::Ok();
}

// Edge and cloud, with the broker in the cloud, as a server would have it.
Status RunAcrossLink(const TransportBenchFlags& flags, Console& console) {
  const Result<int64_t> rate = net::RateOfMbps(flags.link_mbps);
  if (!rate.ok()) return rate.status();
  const net::LinkSetting line = {.rate_bps = *rate,
                                 .delay_ns = net::DelayOfMs(flags.link_rtt_ms / 2).value()};
  const StopSignals stops;  // what is made below is put back before one of them ends us
  const Result<net::LinkPair> pair = net::LinkPair::Create("weft-bench", line, line, 1500, 1);
  if (!pair.ok()) return pair.status();
  const std::string address = net::LinkPair::kCloudAddress;
  const Result<std::unique_ptr<OwnBroker>> broker =
      OwnBroker::Start({.place = pair->cloud.get(), .address = address, .tls = flags.tls});
  if (!broker.ok()) return broker.status();
  const net::MqttSetting client = {.host = address, .port = 1883, .ca_file = (*broker)->ca_file()};
  const int64_t second_bytes = *rate / 8;
  const bench::TransportLoad load = {.stream_bytes = 3 * second_bytes,
                                     .window_bytes = std::min<int64_t>(8 << 20, second_bytes),
                                     .singles = *rate >= 50'000'000 ? 31 : 11};
  std::vector<Way> ways;
  const net::NetworkNamespace* edge = pair->edge.get();
  const net::NetworkNamespace* cloud = pair->cloud.get();
  for (const bool up : {true, false}) {
    const bench::TransportEnds ends =
        up ? bench::TransportEnds{edge, cloud} : bench::TransportEnds{cloud, edge};
    const std::string tcp_address = up ? address : net::LinkPair::kEdgeAddress;
    Result<Way> way =
        Measure(up ? "up" : "down", client, tcp_address, 4 * second_bytes, load, ends);
    if (stops.Take()) return Status::Unavailable("stopped");
    if (!way.ok()) return way.status().WithContext(up ? "up" : "down");
    ways.push_back(std::move(*way));
  }
  int64_t late = 0;
  int64_t packets = 0;
  for (const net::LinkDirection direction : {net::LinkDirection::kUp, net::LinkDirection::kDown}) {
    const net::LinkCounters counters = pair->emulator->counters(0, direction);
    late += counters.late;
    packets += counters.packets;
  }
  if (flags.json) {
    nlohmann::json answer = {{"mbps", flags.link_mbps},
                             {"rtt_ms", flags.link_rtt_ms},
                             {"tls", flags.tls},
                             {"packets", packets},
                             {"late_packets", late}};
    for (const Way& way : ways) answer[way.name] = WayJson(way);
    console.out << answer << "\n";
    return Status::Ok();
  }
  for (const Way& way : ways) console.out << WayText(way) << "\n";
  console.out << fmt::format(
      "{:g} Mb/s and RTT {:g} ms, {}; {} of a message's cost are the way itself. Of {} packets {} "
      "came more than 1 ms late.\n",
      flags.link_mbps, flags.link_rtt_ms, flags.tls ? "TLS" : "plain TCP", TimeText(line.delay_ns),
      CountText(packets), CountText(late));
  return Status::Ok();
}

}  // namespace

void AddTransportBenchFlags(CLI::App& command, TransportBenchFlags& flags) {
  AddBrokerFlags(command, flags.broker);
  command
      .add_option("--tcp-address", flags.tcp_address,
                  "One of this machine's own, for the stream to compare with")
      ->capture_default_str();
  command
      .add_option("--link-mbps", flags.link_mbps,
                  "Instead of --broker: one of our own, behind an emulated link; needs root")
      ->check(PositiveUpTo(100'000));
  command.add_option("--link-rtt-ms", flags.link_rtt_ms, "Of that link")
      ->check(FromZeroUpTo(120'000))
      ->capture_default_str();
  command.add_flag("--tls", flags.tls, "With the broker of our own");
  command.add_flag("--json", flags.json, "One JSON object on stdout");
}

Status RunTransportBench(const TransportBenchFlags& flags, Console& console) {
  if (flags.link_mbps > 0) {
    if (!flags.broker.broker.empty()) {
      return Status::InvalidInput("--link-mbps brings a broker of its own: leave --broker out");
    }
    return RunAcrossLink(flags, console);
  }
  if (flags.tls || flags.link_rtt_ms > 0) {
    return Status::InvalidInput("--tls and --link-rtt-ms go with --link-mbps");
  }
  return RunHere(flags, console);
}

}  // namespace weft::apps
