// One view at a time, by the address.

// Draw now, and anew whenever the address changes; `main` holds the view.
export function follow(main, draw) {
  addEventListener("hashchange", () => {
    draw();
    scrollTo(0, 0);
    main.querySelector("h1")?.focus({ preventScroll: true });
  });
  // The address says what is shown, so the link must not change it.
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault();
    main.focus();
  });
  draw();
}

// Mark the link at the top that leads to the view.
export function markLink(isCurrent) {
  for (const link of document.querySelectorAll("nav.main a")) {
    if (isCurrent(link)) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}
