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

/** Puts new contents into a part; a table that is scrolled sideways stays so, and keeps the keyboard focus. */
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
