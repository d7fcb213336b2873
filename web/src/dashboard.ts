// The dashboard's script: what it adds to the pages of `plimsoll serve`.

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
