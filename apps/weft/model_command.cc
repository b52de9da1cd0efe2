// SPDX-License-Identifier: Apache-2.0
// `weft model`: the zoo, and what one model of it consists of.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "apps/terminal/text.h"
#include "apps/weft/commands.h"
#include "apps/weft/training_memory.h"
#include "core/model/units.h"
#include "core/model/zoo.h"

namespace weft::apps {
namespace {

struct ModelFlags {
  std::string name;
  int batch = 0;  // 0: not given
  bool json = false;

  int images() const { return batch > 0 ? batch : 1; }
};

Status ListZoo(const ModelFlags& flags, Console& console) {
  nlohmann::json models = nlohmann::json::array();
  Table table({"model", "input", "parameters", "multiply-adds", "units"});
  std::string descriptions;
  for (const model::ZooEntry& entry : model::Zoo()) {
    Result<model::Graph> graph = model::BuildModel(entry.name);
    if (!graph.ok()) return graph.status();
    const int64_t macs = graph->macs() * flags.images();
    const size_t units = model::CutIntoUnits(*graph).size();
    const Shape& in = entry.input;
    table.Add({std::string(entry.name), fmt::format("{}x{}x{}", in[0], in[1], in[2]),
               CountText(graph->parameter_count()), CountText(macs), std::to_string(units)});
    models.push_back({{"name", entry.name},
                      {"description", entry.description},
                      {"input", {in[0], in[1], in[2]}},
                      {"parameters", graph->parameter_count()},
                      {"macs", macs},
                      {"units", units}});
  }
  if (flags.json) {
    console.out << nlohmann::json{{"models", models}} << "\n";
  } else {
    console.out << table.Text() << "\nMultiply-adds are for " << flags.images()
                << (flags.images() == 1 ? " image" : " images")
                << " forward. One model in full: weft model NAME\n";
  }
  return Status::Ok();
}

Status ShowModel(const ModelFlags& flags, Console& console) {
  Result<model::Graph> graph = model::BuildModel(flags.name);
  if (!graph.ok()) return graph.status();
  nlohmann::json units = nlohmann::json::array();
  Table table({"unit", "name", "parameters", "bytes", "multiply-adds"});
  int64_t number = 0;
  for (const model::Unit& unit : model::CutIntoUnits(*graph)) {
    const int64_t macs = unit.macs * flags.images();
    units.push_back({{"name", unit.name}, {"bytes", unit.bytes}, {"macs", macs}});
    table.Add({std::to_string(++number), unit.name, CountText(unit.bytes / 4),
               CountText(unit.bytes), CountText(macs)});
  }
  const int64_t macs = graph->macs() * flags.images();
  std::vector<TrainingMemory> memory;
  if (flags.batch > 0) {
    Result<std::vector<TrainingMemory>> planned = PlanTrainingMemory(*graph, flags.batch);
    if (!planned.ok()) return planned.status();
    memory = std::move(planned).value();
  }
  if (flags.json) {
    nlohmann::json answer = {{"name", graph->name()},
                             {"batch", flags.images()},
                             {"parameters", graph->parameter_count()},
                             {"macs", macs},
                             {"units", units}};
    for (const TrainingMemory& row : memory) {
      answer["memory"].push_back({{"total_bytes", row.total()},
                                  {"parameters_bytes", row.parameters},
                                  {"optimizer_bytes", row.optimizer},
                                  {"activations_bytes", row.activations},
                                  {"computed_again", row.work_again}});
    }
    console.out << answer << "\n";
    return Status::Ok();
  }
  const Shape& in = graph->input_shape();
  console.out << fmt::format(
                     "{}: {} parameters ({}), {} multiply-adds for {} x {}x{}x{} forward, {} "
                     "units\n\n",
                     graph->name(), CountText(graph->parameter_count()),
                     BytesText(4 * graph->parameter_count()), CountText(macs), flags.images(),
                     in[0], in[1], in[2], number)
              << table.Text();
  if (!memory.empty()) console.out << "\n" << MemoryTableText(memory, flags.batch);
  return Status::Ok();
}

}  // namespace

Command AddModelCommand(CLI::App& app) {
  auto flags = std::make_shared<ModelFlags>();
  CLI::App* command = app.add_subcommand("model", "List the zoo, or show one model unit by unit");
  command->add_option("NAME", flags->name, "Model of the zoo; without it the zoo is listed");
  command
      ->add_option("--batch", flags->batch,
                   "Images per step: multiply-adds and, for one model, memory are for so many")
      ->check(CLI::Range(1, 65536));
  command->add_flag("--json", flags->json, "One JSON object on stdout");
  return {command, [flags](Console& console) {
            return flags->name.empty() ? ListZoo(*flags, console) : ShowModel(*flags, console);
          }};
}

}  // namespace weft::apps
