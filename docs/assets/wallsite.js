// The page works without this file; it makes four things smoother.

// Change the language and stay in the same section. The theme keeps the section that is being read
// in the address, and sections have the same ids in all languages.
for (const event of ["click", "auxclick"]) {
  document.addEventListener(event, ({ target }) => {
    const link = target.closest?.("a.ws-language");
    if (link) link.hash = location.hash;
  });
}

// The theme puts the copy button of each code block into a <nav>: to a screen reader, dozens of
// places to navigate to, all without a name.
new MutationObserver(() => {
  for (const bar of document.querySelectorAll("nav.md-code__nav:not([role])")) {
    bar.setAttribute("role", "none");
  }
}).observe(document.body, { childList: true, subtree: true });

// A figure of several steps shows all of them; its button lights one after the other.
for (const button of document.querySelectorAll(".ws-steps")) {
  const steps = [...button.closest("figure").querySelectorAll("[data-step]")];
  const words = button.textContent;
  let shown = -1;
  button.hidden = false;
  button.addEventListener("click", () => {
    shown = shown + 1 < steps.length ? shown + 1 : -1;
    for (const [position, step] of steps.entries()) {
      step.classList.toggle("ws-dimmed", shown >= 0 && position !== shown);
    }
    button.textContent = shown < 0 ? words : `${words} ${shown + 1} / ${steps.length}`;
  });
}

// A long list of devices is searched by what its cards say, folded or not: every word must be there.
const cards = [...document.querySelectorAll(".ws-card")];
if (cards.length > 12) {
  const label = document.createElement("label");
  const input = document.createElement("input");
  const count = document.createElement("output");
  const first = cards[0].closest(".ws-cards");
  label.className = "ws-find";
  label.append(first.dataset.find, input, count);
  input.type = "search";
  first.closest("article").querySelector("h1").after(label);
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/);
    for (const card of cards) {
      const text = card.textContent.toLowerCase();
      card.hidden = !words.every((word) => text.includes(word));
    }
    const found = cards.filter((card) => !card.hidden).length;
    count.textContent = input.value ? `${found} / ${cards.length}` : "";
  });
}
