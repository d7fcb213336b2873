import uPlot from "uplot";
import type { Axis, Chart, Stretch } from "./contract";
import { plain, scaleOf } from "./numbers";
import type { Palette } from "./palette";
import { isSweep } from "./series";

/** The least distance between two labels of the horizontal axis, pixels. */
const LABEL_ROOM = 44;
/** All panels have the same room for their vertical axis, so that equal times are aligned. */
const VERTICAL_ROOM = 64;
/** Height of a step of the vertical axis, pixels, at least. */
const STEP = 40;
/** Below the plot: ticks with labels and a title, or only ticks. */
const LABELS = 30;
const TITLE = 22;
const TICKS = 8;
const LINEAR = 1;
const LOGARITHMIC = 3;

/** Whether the horizontal axis can be logarithmic: it has no logarithm of zero. */
function isLogarithmic(chart: Chart): boolean {
  return chart.x.logarithmic && chart.at.every((x) => x > 0);
}

/** The whole range of the horizontal axis, never empty. */
export function whole(chart: Chart): Stretch {
  const ends = [...chart.at, ...chart.bands.flatMap((band) => [band.from, band.to])];
  const [low, high] = [Math.min(...ends), Math.max(...ends)];
  if (isLogarithmic(chart)) {
    return low < high ? [low / 1.08, high * 1.08] : [low / 2, high * 2];
  }
  return low < high ? [low, high] : [low - 0.5, high + 0.5];
}

/** So much of the whole axis is shown at the least. */
const CLOSEST = 1 / 1000;

/**
 * What is shown when `factor` times as much as in `stretch` is: `around` keeps its place, the middle if that is not seen.
 * Null is everything.
 */
export function zoomed(chart: Chart, stretch: Stretch | null, around: number | null, factor: number): Stretch | null {
  const isBent = isLogarithmic(chart);
  const into = (x: number): number => (isBent ? Math.log(x) : x);
  const back = (x: number): number => (isBent ? Math.exp(x) : x);
  const [first, last] = whole(chart);
  const [low, high] = stretch ?? [first, last];
  const all = into(last) - into(first);
  const isSeen = around !== null && low <= around && around <= high;
  const middle = isSeen ? into(around) : (into(low) + into(high)) / 2;
  const from = Math.max(into(first), middle + (into(low) - middle) * factor);
  const to = Math.min(into(last), middle + (into(high) - middle) * factor);
  if (to - from < CLOSEST * all) {
    return stretch;
  }
  // What is left of rounding is nothing to see.
  return to - from > (1 - 1e-9) * all ? null : [back(from), back(to)];
}

/** Both scales, for a plot of this height in pixels. */
export function scales(chart: Chart, y: Axis, height: number): uPlot.Scales {
  const steps = Math.max(1, Math.floor(height / STEP));
  return {
    x: { time: false, distr: isLogarithmic(chart) ? LOGARITHMIC : LINEAR, range: (_, low, high) => [low, high] },
    y: {
      distr: y.logarithmic ? LOGARITHMIC : LINEAR,
      range: (_, low, high) => (y.logarithmic ? aroundLogarithms(low, high) : fromZero(low, high, steps)),
    },
  };
}

/** A linear axis begins at zero, so that twice as high means twice as much, and ends at a round number. */
function fromZero(low: number | null, high: number | null, steps: number): uPlot.Range.MinMax {
  const [bottom, top] = [Math.min(0, low ?? 0), Math.max(0, high ?? 0)];
  const step = roundUp((top - bottom) / steps);
  return step > 0 ? [step * Math.floor(bottom / step), step * Math.ceil(top / step)] : [0, 1];
}

/** The next 1, 2 or 5 times a power of ten. */
function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return power * ([1, 2, 5].find((times) => times * power >= value) ?? 10);
}

function aroundLogarithms(low: number | null, high: number | null): uPlot.Range.MinMax {
  return low !== null && high !== null && low > 0 ? uPlot.rangeLog(low, high, 10, false) : [0.1, 10];
}

/** Height of what is below the plot, pixels. */
export function horizontalRoom(isLast: boolean): number {
  return isLast ? LABELS + TITLE : TICKS;
}

/** Both axes; only the last panel labels the horizontal one. */
export function axes(chart: Chart, y: Axis, palette: Palette, isLast: boolean): uPlot.Axis[] {
  const font = `12px ${palette.named("--sans")}`;
  const stroke = () => palette.named("--soft");
  const line = { stroke: () => palette.named("--hair"), width: 1 };
  const values: uPlot.Axis.DynamicValues = (_, splits) => splits.map((split) => (split === null ? "" : plain(split)));
  const common = { stroke, font, values };
  const horizontal: uPlot.Axis = { ...common, labelFont: font, grid: { show: false }, ticks: line, size: LABELS };
  if (isLogarithmic(chart) && isSweep(chart)) {
    const splits = (plot: uPlot) => apart(plot, chart.at);
    Object.assign(horizontal, { splits, filter: (_: uPlot, at: number[]) => at });
  }
  if (isLast) {
    Object.assign(horizontal, { label: [chart.x.title, scaleOf(chart.x)].filter(Boolean).join(", "), labelSize: TITLE });
  } else {
    Object.assign(horizontal, { values: (_: uPlot, splits: number[]) => splits.map(() => ""), size: TICKS });
  }
  const filter: uPlot.Axis.Filter = (_, splits) => (y.logarithmic ? roundOnly(splits) : splits);
  const grid = { ...line, filter };
  return [horizontal, { ...common, filter, grid, ticks: { show: false }, size: VERTICAL_ROOM, space: STEP - 4 }];
}

/** The lines of a logarithmic axis at 1, 2 or 5 times a power of ten; over many decades only the powers. */
function roundOnly(splits: number[]): (number | null)[] {
  const wanted = splits.length > 27 ? [1] : [1, 2, 5];
  const leading = (split: number) => Math.round(split / 10 ** Math.floor(Math.log10(split) + 1e-9));
  return splits.map((split) => (wanted.includes(leading(split)) ? split : null));
}

/** The ticks whose labels do not overlap. */
function apart(plot: uPlot, places: number[]): number[] {
  let last = -Infinity;
  return places.filter((place) => {
    const left = plot.valToPos(place, "x");
    const room = left - last >= LABEL_ROOM;
    last = room ? left : last;
    return room;
  });
}
