import type { Chart, Stretch } from "./contract";
import { element } from "./element";
import { withUnit } from "./numbers";
import { Palette } from "./palette";
import { Panel } from "./panel";
import { zoomed } from "./scales";
import { SharedAxis, type Follower } from "./shared";
import { adoptStyle } from "./style";

const HINT = matchMedia("(pointer: coarse)").matches
  ? "Tap to read the values"
  : "Drag across to zoom; arrow keys move the cursor, + and − zoom";

/** A chart on the page: what is under the cursor, a way back from a zoom, and the panels below each other. */
export class ChartView implements Follower {
  private readonly root = element("div", "chart");
  private readonly axis: SharedAxis;
  private readonly palette: Palette;
  private readonly panels: Panel[];
  private readonly reading = element("span", "reading", HINT);
  private readonly reset = element("button", "reset", "Reset zoom");
  /** The index in the chart's lists that the cursor is on. */
  private place: number | null = null;
  private stretch: Stretch | null = null;

  /** Inserts it after `before`, where it follows the width and the colours of the page. */
  constructor(before: Element, private readonly chart: Chart) {
    adoptStyle();
    before.after(this.root);
    this.axis = SharedAxis.of(chart.x);
    this.palette = new Palette(this.root);
    this.panels = chart.panels.map((panel) => new Panel(chart, panel, this.axis, this.palette));
    this.root.append(this.tools(), ...this.panels.map((panel) => panel.root));
    if (chart.small_print !== "") {
      this.root.append(element("p", "small-print", chart.small_print));
    }
    this.root.tabIndex = 0;
    this.root.setAttribute("role", "group");
    const titles = chart.panels.map((panel) => panel.y.title).join(", ");
    this.root.setAttribute("aria-label", `${titles} by ${chart.x.title}`);
    this.root.addEventListener("keydown", (event) => this.key(event));
    // A pointer passes many values, which nobody wants read out.
    ["pointermove", "focusout"].forEach((name) => this.root.addEventListener(name, () => this.readOut(false)));
    this.axis.join(this);
    new ResizeObserver(() => this.resize()).observe(this.root);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.recolour());
  }

  point(x: number | null): void {
    this.place = x === null ? null : nearest(this.chart.at, x);
    this.reading.textContent = this.place === null ? HINT : this.describe(this.place);
    this.panels.forEach((panel) => panel.point(x, this.place));
  }

  show(stretch: Stretch | null): void {
    this.stretch = stretch;
    this.reset.disabled = stretch === null;
    this.panels.forEach((panel) => panel.show(stretch));
  }

  private recolour(): void {
    this.palette.forget();
    this.panels.forEach((panel) => panel.recolour());
  }

  private resize(): void {
    // Without a width the chart is hidden: on paper, or in a folded part of the page.
    const width = this.root.clientWidth;
    if (width > 0) {
      this.panels.forEach((panel) => panel.resize(width));
    }
  }

  private tools(): HTMLElement {
    const tools = element("div", "tools");
    this.readOut(false);
    this.reset.type = "button";
    this.reset.addEventListener("click", () => this.axis.show(null));
    tools.append(this.reading, this.reset);
    return tools;
  }

  /** `12 s, warm-up`. */
  private describe(place: number): string {
    const x = this.chart.at[place] ?? 0;
    const phase = this.chart.bands.find((band) => band.from <= x && x <= band.to);
    const { title, unit } = this.chart.x;
    return [unit === "" ? `${title} ${withUnit(x, unit)}` : withUnit(x, unit), phase?.name].filter(Boolean).join(", ");
  }

  /** Whether a screen reader says what is under the cursor when that changes. */
  private readOut(aloud: boolean): void {
    this.reading.setAttribute("aria-live", aloud ? "polite" : "off");
  }

  private key(event: KeyboardEvent): void {
    // With these, keys are the browser's.
    if (event.ctrlKey || event.altKey || event.metaKey) {
      return;
    }
    const factor = { "+": 0.5, "=": 0.5, "-": 2 }[event.key];
    const place = this.leadsTo(event.key);
    if (factor !== undefined) {
      const around = this.place === null ? null : (this.chart.at[this.place] ?? null);
      this.axis.show(zoomed(this.chart, this.stretch, around, factor));
    } else if (place !== null) {
      this.readOut(true);
      this.axis.point(this.chart.at[place] ?? null);
    } else {
      return;
    }
    event.preventDefault();
  }

  /** The index in the chart's lists that the cursor is on after this key; null for keys that do not move it. */
  private leadsTo(key: string): number | null {
    const last = this.chart.at.length - 1;
    const step = { ArrowLeft: -1, ArrowRight: 1 }[key];
    if (step === undefined) {
      return { Home: 0, End: last }[key] ?? null;
    }
    return this.place === null ? (step > 0 ? 0 : last) : Math.min(last, Math.max(0, this.place + step));
  }
}

/** The index in an ascending list whose number is nearest to `x`; null if `x` is outside. */
function nearest(rising: number[], x: number): number | null {
  const after = rising.findIndex((at) => at >= x);
  const [low, high] = [rising[after - 1], rising[after]];
  if (high === undefined || (low === undefined && x < high)) {
    return null;
  }
  return low !== undefined && x - low < high - x ? after - 1 : after;
}
