// Exactly two recordings are picked for a comparison.

const WANTED = 2;

/** Says how many are picked, and allows the form only with two. */
export function watchPicks(form: HTMLFormElement): void {
  const boxes = [...form.querySelectorAll<HTMLInputElement>("input[name=pick]")];
  const button = form.querySelector("button");
  const told = form.querySelector(".picked");
  if (!button || !told) {
    return;
  }
  const look = (): void => {
    const picked = boxes.filter((box) => box.checked).length;
    button.disabled = picked !== WANTED;
    told.textContent = picked === 0 ? "Pick two." : picked === WANTED ? "" : `${picked} picked; pick two.`;
  };
  form.addEventListener("change", look);
  // A browser that comes back to the page restores what was picked, after its scripts ran.
  window.addEventListener("pageshow", look);
  look();
}
