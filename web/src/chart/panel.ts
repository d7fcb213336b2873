import uPlot from "uplot";
import * as annotations from "./annotations";
import type { Chart, ChartPanel, Stretch } from "./contract";
import { element } from "./element";
import { Legend } from "./legend";
import type { Palette } from "./palette";
import { NAME_ROOM, names, shade } from "./phases";
import { axes, horizontalRoom, scales, whole } from "./scales";
import { data, intervals, isSweep, marks, series, seriesOf } from "./series";
import type { SharedAxis } from "./shared";
import { strokes } from "./strokes";

/** Heights of what is plotted, pixels: of all panels together, and the least and the most of one. */
const TOGETHER = 400;
const LEAST = 120;
const MOST = 260;
/** The position of an invisible cursor. */
const AWAY = -10;

/** One panel of a chart: its legend, and its lines over the common horizontal axis. */
export class Panel {
  readonly root = element("div", "panel");
  private readonly plot: uPlot;
  private readonly legend: Legend;

  constructor(
    private readonly chart: Chart,
    panel: ChartPanel,
    private readonly axis: SharedAxis,
    palette: Palette,
  ) {
    this.legend = new Legend(panel, (line, shown) => this.toggle(line, shown));
    const [isFirst, isLast] = [panel === chart.panels[0], panel === chart.panels.at(-1)];
    const above = isFirst ? NAME_ROOM : 8;
    const plotted = Math.min(MOST, Math.max(LEAST, TOGETHER / chart.panels.length));
    this.plot = new uPlot(
      {
        width: 600,
        height: above + plotted + horizontalRoom(isLast),
        padding: [above, 12, 0, 0],
        legend: { show: false },
        scales: scales(chart, panel.y, plotted),
        axes: axes(chart, panel.y, palette, isLast),
        series: series(chart, panel, palette),
        bands: intervals(chart, panel, palette),
        cursor: { y: false, points: marks(panel, palette), drag: { setScale: false, dist: 4 }, bind: this.gestures() },
        hooks: {
          drawClear: [shade(chart.bands, palette)],
          drawAxes: isFirst ? [names(chart.bands, palette)] : [],
          draw: isSweep(chart) ? sweepOnly(chart, panel, palette) : [],
          setCursor: [(plot) => this.axis.point(pointedAt(plot))],
          setSelect: [(plot) => this.zoom(plot.select)],
        },
      },
      data(chart, panel),
      this.root,
    );
    this.root.prepend(this.legend.root);
  }

  /** Puts the cursor at `x` and shows the values at this index of the lists; null removes both. */
  point(x: number | null, place: number | null): void {
    const left = x === null || place === null ? AWAY : this.plot.valToPos(x, "x");
    const seen = left >= 0 && left <= this.plot.over.clientWidth;
    this.plot.setCursor(seen ? { left, top: 0 } : { left: AWAY, top: AWAY }, false);
    this.legend.read(place);
  }

  show(stretch: Stretch | null): void {
    const [min, max] = stretch ?? whole(this.chart);
    this.plot.setScale("x", { min, max });
  }

  resize(width: number): void {
    this.plot.setSize({ width, height: this.plot.height });
  }

  /** Redraws everything in the current colours. */
  recolour(): void {
    this.plot.redraw(false, true);
  }

  private toggle(line: number, shown: boolean): void {
    this.plot.batch(() => seriesOf(line).forEach((number) => this.plot.setSeries(number, { show: shown })));
  }

  private zoom({ left, width }: uPlot.BBox): void {
    if (width > 0) {
      const stretch = [this.plot.posToVal(left, "x"), this.plot.posToVal(left + width, "x")] as const;
      this.plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
      this.axis.show(stretch);
    }
  }

  private gestures(): uPlot.Cursor.Bind {
    return {
      dblclick: () => () => {
        this.axis.show(null);
        return null;
      },
    };
  }
}

/** What is drawn over the lines of a sweep. */
function sweepOnly(chart: Chart, panel: ChartPanel, palette: Palette): ((plot: uPlot) => void)[] {
  const drawn = [strokes(panel, palette)];
  if (panel === chart.panels[0]) {
    drawn.push(annotations.marks(chart.marks, palette));
  }
  return drawn;
}

/** Where on the horizontal axis the pointer is; null when it has left. */
function pointedAt(plot: uPlot): number | null {
  const left = plot.cursor.left ?? AWAY;
  return left < 0 ? null : plot.posToVal(left, "x");
}
