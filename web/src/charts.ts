import { LineChart } from "echarts/charts";
import {
  GridComponent,
  LegendComponent,
  TitleComponent,
  TooltipComponent,
} from "echarts/components";
import { init, use, type ECharts } from "echarts/core";
import { CanvasRenderer } from "echarts/renderers";

use([LineChart, GridComponent, LegendComponent, TitleComponent, TooltipComponent, CanvasRenderer]);

// A line per host over the seconds of a phase. Points may come one at a time.
export class HostChart {
  private readonly chart: ECharts;
  private readonly lines = new Map<string, [number, number][]>();

  constructor(
    private readonly parent: HTMLElement,
    private readonly title: string,
    private readonly show: (value: number) => string,
    private readonly log = false,
  ) {
    this.chart = init(parent);
    new ResizeObserver(() => this.chart.resize()).observe(parent);
    this.draw();
  }

  add(host: string, seconds: number, value: number): void {
    if (this.log && value <= 0) return;
    const line = this.lines.get(host) ?? [];
    line.push([seconds, value]);
    this.lines.set(host, line);
  }

  draw(): void {
    const ends = [...this.lines.values()].map((line) => line[line.length - 1][0]);
    const until = Math.max(0, ...ends).toFixed(1);
    this.parent.setAttribute("role", "img");
    this.parent.setAttribute("aria-label", `${this.title}, 0 to ${until} s`);
    const muted = getComputedStyle(document.body).getPropertyValue("--muted");
    this.chart.setOption(
      {
        animation: false,
        title: { text: this.title, textStyle: { fontSize: 13, fontWeight: 500, color: muted } },
        legend: { right: 0, textStyle: { color: muted } },
        tooltip: { trigger: "axis", valueFormatter: (value: unknown) => this.show(Number(value)) },
        grid: { left: 70, right: 15, top: 35, bottom: 25 },
        xAxis: { type: "value", axisLabel: { formatter: "{value} s" } },
        yAxis: {
          type: this.log ? "log" : "value",
          axisLabel: { formatter: (value: number) => this.show(value) },
        },
        series: [...this.lines].map(([name, data]) => ({
          name,
          data,
          type: "line",
          showSymbol: data.length < 3,
        })),
      },
      { notMerge: true },
    );
  }
}
