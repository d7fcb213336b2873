// Two recordings are picked for a comparison, or more to see them side by side.

const LEAST = 2;
const MOST = 8;

/** Says how many are picked, and allows the form only with as many as a page can show. */
export function watchPicks(form: HTMLFormElement): void {
  const boxes = [...form.querySelectorAll<HTMLInputElement>("input[name=pick]")];
  const button = form.querySelector("button");
  const told = form.querySelector(".picked");
  if (!button || !told) {
    return;
  }
  const look = (): void => {
    const picked = boxes.filter((box) => box.checked).length;
    button.disabled = picked < LEAST || picked > MOST;
    const advice = picked < LEAST ? `pick two, or up to ${MOST}` : `up to ${MOST} fit`;
    told.textContent = button.disabled ? `${picked === 0 ? "" : `${picked} picked; `}${advice}.` : "";
  };
  form.addEventListener("change", look);
  // A browser that comes back to the page restores what was picked, after its scripts ran.
  window.addEventListener("pageshow", look);
  look();
}
