/** Lines over a common axis, in panels below each other: `Chart` of crates/report/src/document.rs, as JSON. */
export interface Chart {
  x: Axis;
  /** Places on the horizontal axis, rising. */
  at: number[];
  panels: ChartPanel[];
  bands: Band[];
  /** Places of the first panel that have a name. */
  marks: Mark[];
}

export interface Axis {
  title: string;
  /** Empty for none. */
  unit: string;
  logarithmic: boolean;
}

export interface ChartPanel {
  y: Axis;
  lines: ChartLine[];
}

/** Each list is empty or stands beside the chart's `at`; null is a gap. */
export interface ChartLine {
  name: string;
  /** Colour class of the style sheet: `s1` to `s8`. */
  class: string;
  values: (number | null)[];
  low: (number | null)[];
  high: (number | null)[];
  /** The slowest and the fastest second of what the values are means of. */
  least: (number | null)[];
  most: (number | null)[];
  /** Not measured here: a model, or what was published. */
  dashed: boolean;
}

/** A place with a name: the knee. */
export interface Mark {
  x: number;
  y: number;
  name: string;
  /** A load point that was disturbed, which a cross marks. */
  disturbed?: boolean;
}

/** A stretch of the horizontal axis with a name: a phase. */
export interface Band {
  from: number;
  to: number;
  name: string;
  measured: boolean;
}

/** From where to where on the horizontal axis. */
export type Stretch = readonly [from: number, to: number];
