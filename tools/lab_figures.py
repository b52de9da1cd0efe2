#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tables and pictures of what `weft lab --json` measured.

    tools/lab_figures.py RESULTS.jsonl [...] > table.md
    tools/lab_figures.py RESULTS.jsonl [...] --picture FOLDER

Each file holds what one or more labs printed: an object for each strategy, and a summary behind
them. Runs that the lab called invalid are counted and left out. Pictures are SVG, by gnuplot: one
of all models, with each strategy's time as a share of sequential's.
"""
import argparse
import json
import pathlib
import subprocess
import sys

STRATEGIES = ["sequential", "lbl", "ibatch", "dynacomm", "weave"]
COLOURS = {"sequential": "#9e9e9e", "lbl": "#80b1d3", "ibatch": "#fdb462", "dynacomm": "#4daf4a",
           "weave": "#e41a1c"}


def read(paths):
    """{(model, mbps): {strategy: result}}, and how many were invalid."""
    rows, invalid = {}, 0
    for path in paths:
        waiting = []
        for line in pathlib.Path(path).read_text().splitlines():
            found = json.loads(line)
            if not found.get("summary"):
                waiting.append(found)
                continue
            row = rows.setdefault((found["model"], found["mbps"]), {})
            for result in waiting:
                if result["valid"]:
                    row[result["strategy"]] = result
                else:
                    invalid += 1
            waiting = []
        if waiting:
            sys.exit(f"{path}: the lab's last line, the summary, is missing")
    return dict(sorted(rows.items())), invalid


def seconds(result, key="iteration_ms"):
    if result is None or result.get(key) is None:
        return ""
    value = result[key] / 1e3
    return f"{value:.2f}" if value < 20 else f"{value:.1f}"


def ratio(over, under):
    return over["iteration_ms"] / under["iteration_ms"] if over and under else None


def table(rows):
    lines = ["| model | Mb/s | sequential | lbl | ibatch | dynacomm | predicted | weave | weave / dynacomm"
             " | of its bound | of one direction alone |", "|---|" + "---|" * 10]
    for (model, mbps), row in rows.items():
        dynacomm, weave = row.get("dynacomm"), row.get("weave")
        share = ratio(weave, dynacomm)
        cells = [model, f"{mbps:g}", *(seconds(row.get(name)) for name in STRATEGIES[:4]),
                 seconds(dynacomm, "predicted_ms"), seconds(weave),
                 "" if share is None else f"{share:.2f}",
                 "" if weave is None else f"{weave['of_bound_percent']:.0f} %",
                 "" if share is None else f"{100 * dynacomm['bound_ms'] / weave['iteration_ms']:.0f} %"]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def script(rows, path):
    """What gnuplot is given: a plot for each model, a group of bars for each rate."""
    models = sorted({model for model, _ in rows})
    height = 60 + 230 * len(models)
    text = [f"set terminal svg noenhanced size 900,{height} font 'sans,11' background '#ffffff'",
            f"set output '{path}'",
            f"set multiplot layout {len(models)},1 title "
            "'time of an iteration over a real broker and an emulated link, sequential = 100 %'",
            "set style data histograms", "set style histogram clustered gap 1.5",
            "set style fill solid 1 border -1", "set boxwidth 0.9", "set yrange [0:115]",
            "set format y '%g %%'", "set grid y", "set bmargin 3", "set key outside right top vertical"]
    for model in models:
        rates = sorted(mbps for name, mbps in rows if name == model)
        text.append("$bars << EOD")
        for mbps in rates:
            row = rows[(model, mbps)]
            base = row.get("sequential")
            cells = [100 * ratio(row.get(name), base) if row.get(name) and base else "NaN"
                     for name in STRATEGIES]
            label = f"{mbps:g} Mb/s" + (f"\\n{seconds(base)} s" if base else "")
            text.append(f'"{label}" ' + " ".join(str(cell) for cell in cells))
        text.append("EOD")
        text.append(f"set title '{model}'")
        text.append("plot " + ", ".join(
            f"$bars using {column + 2}:xtic(1) title '{name}' lc rgb '{COLOURS[name]}'"
            for column, name in enumerate(STRATEGIES)))
    return "\n".join(text) + "\n"


def main():
    arguments = argparse.ArgumentParser(description=__doc__,
                                        formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("results", nargs="+")
    arguments.add_argument("--picture", metavar="FILE.svg")
    chosen = arguments.parse_args()
    rows, invalid = read(chosen.results)
    if chosen.picture:
        subprocess.run(["gnuplot"], input=script(rows, chosen.picture), text=True, check=True)
    else:
        print(table(rows))
    if invalid:
        print(f"{invalid} runs were invalid and are left out", file=sys.stderr)


if __name__ == "__main__":
    main()
