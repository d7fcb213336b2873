// The dashboard's script: what the pages of `plimsoll serve` can do beyond what they do without it.

import { follow } from "./dashboard/follow";
import { watchPicks } from "./dashboard/picking";

const following = document.querySelector<HTMLElement>(".following");
if (following) {
  follow(following);
}

const history = document.querySelector<HTMLFormElement>("form.history");
if (history) {
  watchPicks(history);
}
