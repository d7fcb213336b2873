import type { ChartLine, ChartPanel } from "./contract";
import { element } from "./element";
import { scaleOf, short } from "./numbers";

/** The lines of a panel: a button each, which shows or hides it, and its value at the cursor. */
export class Legend {
  readonly root = element("div", "legend");
  private readonly values: HTMLElement[];

  /** `toggle` gets the number of a line and whether it is to be shown. */
  constructor(
    private readonly panel: ChartPanel,
    toggle: (line: number, shown: boolean) => void,
  ) {
    const title = element("span", "what", panel.y.title);
    title.append(" ", element("span", "unit", scaleOf(panel.y)));
    this.root.append(title);
    this.values = panel.lines.map((line, number) => {
      const value = element("span", "value");
      const item = element("span", `item ${line.class}`);
      const name = panel.lines.length > 1 ? button(line, (shown) => toggle(number, shown)) : label(line);
      item.append(name, value);
      this.root.append(item);
      return value;
    });
  }

  /** Shows the values at this index of the lists; null shows none. */
  read(place: number | null): void {
    this.values.forEach((shown, number) => {
      const line = this.panel.lines[number];
      shown.textContent = place === null || !line ? "" : reading(line, place);
    });
  }
}

function label(line: ChartLine): HTMLElement {
  const shown = element("span", "line");
  shown.append(swatch(line), line.name);
  return shown;
}

/** Dashed like the line, for published numbers and models. */
function swatch(line: ChartLine): HTMLElement {
  return element("i", line.dashed ? "swatch dashed" : "swatch");
}

function button(line: ChartLine, toggle: (shown: boolean) => void): HTMLElement {
  const made = element("button", "line");
  made.type = "button";
  made.append(swatch(line), line.name);
  made.setAttribute("aria-pressed", "true");
  made.addEventListener("click", () => {
    const shown = made.getAttribute("aria-pressed") !== "true";
    made.setAttribute("aria-pressed", String(shown));
    toggle(shown);
  });
  return made;
}

/** `1,740 (1,690–1,790)`, `29 (−75 to 133)`; a dash if nothing was measured. */
function reading(line: ChartLine, place: number): string {
  const value = line.values[place] ?? null;
  const [low, high] = [line.low[place] ?? null, line.high[place] ?? null];
  if (value === null) {
    return "–";
  }
  if (low === null || high === null) {
    return short(value);
  }
  const dash = Math.min(low, high) < 0 ? " to " : "–";
  return `${short(value)} (${short(low)}${dash}${short(high)})`;
}
