// SPDX-License-Identifier: Apache-2.0
// `weft bench transport`: tensors through a real broker, beside a bare TCP stream.
#include "apps/weft/transport_bench_command.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <ostream>

#include "apps/terminal/text.h"
#include "bench/transport_bench.h"
#include "core/clock.h"

namespace weft::apps {

void AddTransportBenchFlags(CLI::App& command, TransportBenchFlags& flags) {
  AddBrokerFlags(command, flags.broker);
  command
      .add_option("--tcp-address", flags.tcp_address,
                  "One of this machine's own, for the stream to compare with")
      ->capture_default_str();
  command.add_flag("--json", flags.json, "One JSON object on stdout");
}

Status RunTransportBench(const TransportBenchFlags& flags, Console& console) {
  Result<net::MqttSetting> setting = BrokerSetting(flags.broker);
  if (!setting.ok()) return setting.status();
  net::MqttSetting publisher = *setting;
  net::MqttSetting subscriber = *setting;
  publisher.client_id = publisher.username = "bench-up";
  subscriber.client_id = subscriber.username = "bench-down";
  const SteadyClock clock;
  const Result<double> tcp = bench::BenchTcpStream(clock, flags.tcp_address, int64_t{1} << 30);
  if (!tcp.ok()) return tcp.status();
  const Result<bench::TransportResult> result =
      bench::BenchTransport(clock, publisher, subscriber, "weft/bench/bench-up/push", {});
  if (!result.ok()) return result.status();

  nlohmann::json sizes = nlohmann::json::array();
  Table table({"message", "MB/s", "of TCP", "one at a time"});
  for (const bench::MessageSizeResult& size : result->sizes) {
    sizes.push_back({{"bytes", size.message_bytes},
                     {"bytes_per_s", size.stream_bytes_per_s},
                     {"single_ns", size.single_ns}});
    table.Add({BytesText(size.message_bytes), fmt::format("{:.0f}", size.stream_bytes_per_s / 1e6),
               PercentText(100 * size.stream_bytes_per_s / *tcp), TimeText(size.single_ns)});
  }
  if (flags.json) {
    console.out << nlohmann::json{{"sizes", sizes},
                                  {"tcp_bytes_per_s", *tcp},
                                  {"message_ns", result->message_ns},
                                  {"bytes_per_s", result->bytes_per_s}}
                << "\n";
    return Status::Ok();
  }
  console.out << table.Text()
              << fmt::format(
                     "\nbare TCP {:.0f} MB/s; a message costs {} and its bytes go at {:.0f} "
                     "MB/s, one at a time\n",
                     *tcp / 1e6, TimeText(static_cast<int64_t>(result->message_ns)),
                     result->bytes_per_s / 1e6);
  return Status::Ok();
}

}  // namespace weft::apps
