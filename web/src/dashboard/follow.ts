// A recording that grows: the parts of the page are replaced as the server pushes them, complete and escaped.

type Parts = Record<string, string>;

/** Listens to the events that the element names, until the recording is over. */
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
    // A browser asks again by itself, unless it was told that there is nothing more.
    const ended = source.readyState === EventSource.CLOSED;
    tell(ended ? "No longer kept up to date." : "The connection is lost; trying again.");
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

/** Replaces what has changed; where the reader is in the rest of the page, they stay. */
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

/** Puts other contents into a part; a table that is scrolled sideways stays so, and keeps the keyboard's focus. */
function replace(part: HTMLElement, markup: string): void {
  const scrolled = part.querySelector(".wide")?.scrollLeft ?? 0;
  const focused = part.querySelector(".wide") === document.activeElement;
  part.innerHTML = markup;
  const wide = part.querySelector<HTMLElement>(".wide");
  if (wide) {
    wide.scrollLeft = scrolled;
    if (focused) {
      wide.focus({ preventScroll: true });
    }
  }
}
