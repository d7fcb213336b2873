/** The style sheet's current colours, which change with the reader's choice of light or dark. */
export class Palette {
  private readonly known = new Map<string, string>();

  constructor(private readonly host: HTMLElement) {}

  /** To be called when the colours may have changed. */
  forget(): void {
    this.known.clear();
  }

  /** A custom property of the page: `--ink`. */
  named(property: string): string {
    return this.read(property, () => getComputedStyle(this.host).getPropertyValue(property));
  }

  /** The colour of a line's class: `s1`. */
  line(name: string): string {
    return this.read(name, () => {
      const probe = this.host.appendChild(document.createElement("i"));
      probe.className = name;
      const colour = getComputedStyle(probe).getPropertyValue("--c");
      probe.remove();
      return colour;
    });
  }

  /** The same colour for the area of an interval, through which the grid still shows. Colours are written `#rrggbb`. */
  area(name: string): string {
    return `${this.line(name)}38`;
  }

  /** A canvas font with this size in pixels of the page. */
  font(size: number, weight = 400): string {
    return `${weight} ${size * devicePixelRatio}px ${this.named("--sans")}`;
  }

  private read(key: string, find: () => string): string {
    let colour = this.known.get(key);
    if (colour === undefined) {
      colour = find().trim() || "#808080";
      this.known.set(key, colour);
    }
    return colour;
  }
}
