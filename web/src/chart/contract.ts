/** Lines over a common axis, in panels below each other: `Chart` of crates/document/src/document.rs, as JSON. */
export interface Chart {
  x: Axis;
  /** Values on the horizontal axis, ascending. */
  at: number[];
  panels: ChartPanel[];
  bands: Band[];
  /** Named points of the first panel. */
  marks: Mark[];
  /** Where it was measured. */
  small_print: string;
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

/** Each list is empty or parallel to the chart's `at`; null is a gap. */
export interface ChartLine {
  name: string;
  /** Colour class of the style sheet: `s1` to `s8`. */
  class: string;
  values: (number | null)[];
  low: (number | null)[];
  high: (number | null)[];
  /** The slowest and the fastest of the seconds that the values are means of. */
  least: (number | null)[];
  most: (number | null)[];
  /** Not measured here: a model, or a published number. */
  dashed: boolean;
}

/** A named point; a disturbed load point is marked by a cross. */
export interface Mark {
  x: number;
  y: number;
  name: string;
  kind: "knee" | "peak" | "disturbed";
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
