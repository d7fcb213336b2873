// A growing recording: the parts of the page are replaced as the server pushes them, complete and escaped.

type Parts = Record<string, string>;

/** Listens to the events that the element names until the recording has ended. */
export function follow(element: HTMLElement): void {
  const address = element.dataset["events"];
  if (!address) {
    return;
  }
  const source = new EventSource(address);
  const tell = (text: string): void => {
    const line = document.getElementById("connection");
    if (line && line.textContent !== text) {
      line.textContent = text;
    }
  };
  source.addEventListener("open", () => tell(""));
  source.addEventListener("error", () => {
    // A browser reconnects by itself, unless it was told that there is nothing more.
    const ended = source.readyState === EventSource.CLOSED;
    tell(ended ? "No longer kept up to date." : "The connection is lost; reconnecting.");
  });
  source.addEventListener("parts", (event) => show(parts(event)));
  source.addEventListener("over", (event) => {
    source.close();
    show(parts(event));
  });
}

function parts(event: MessageEvent<string>): Parts {
  return JSON.parse(event.data) as Parts;
}

/** Replaces what has changed; the reader keeps their place in the rest of the page. */
function show(parts: Parts): void {
  for (const [id, markup] of Object.entries(parts)) {
    const part = document.getElementById(id);
    if (part && shown.get(id) !== markup) {
      shown.set(id, markup);
      replace(part, markup);
    }
  }
}

const shown = new Map<string, string>();

/** What may have the keyboard focus. */
const FOCUSABLE = "summary, a[href], button, .wide";

/** Puts new contents into a part: what the reader has opened, scrolled sideways or focused stays so. */
function replace(part: HTMLElement, markup: string): void {
  const folds = new Map<string, boolean>();
  part.querySelectorAll("details").forEach((fold) => folds.set(nameOf(fold), fold.open));
  const scrolled = [...part.querySelectorAll(".wide")].map((wide) => wide.scrollLeft);
  const focused = [...part.querySelectorAll(FOCUSABLE)].findIndex((one) => one === document.activeElement);
  part.innerHTML = markup;
  part.querySelectorAll("details").forEach((fold) => (fold.open = folds.get(nameOf(fold)) ?? fold.open));
  part.querySelectorAll(".wide").forEach((wide, number) => (wide.scrollLeft = scrolled[number] ?? 0));
  [...part.querySelectorAll<HTMLElement>(FOCUSABLE)][focused]?.focus({ preventScroll: true });
}

/** The id of the figure or section that it folds a part of. */
function nameOf(fold: Element): string {
  return fold.closest("[id]")?.id ?? "";
}
