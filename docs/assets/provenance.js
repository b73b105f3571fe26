// Shows where a number comes from, when a reader points at it, moves to it with the keyboard, or
// taps it. Without this file every number still has its title.
//
// The page ends in a template that holds the box to show, and a list of all that its numbers rest
// on. A number has the places of its inputs in data-from; at place 0 stands that it has none. Its
// title has a line for the kind of statement, lines for how it is computed, and one for each input,
// which the entries of the list replace.

const provenance = (template) => {
  const page = template.parentElement;
  const box = template.content.querySelector(".ws-provenance");
  const [head, code, list, keys] = ["p", "code", "ul", "p:last-child"].map((part) =>
    box.querySelector(part),
  );
  box.id = "ws-provenance-box";
  box.hidden = true;
  document.body.append(box);
  const marks = template.content.querySelector(".ws-marks");
  page.append(marks);
  const entries = template.content.children; // without the two that have just left

  // --- The switch that marks every number --------------------------------------------------------

  const mark = (all) => document.documentElement.classList.toggle("ws-marked", all);
  const [kept, name] = [marks.querySelector("input"), "ws-marked"];
  try {
    kept.checked = localStorage.getItem(name) === "true";
  } catch {} // a browser that keeps nothing shows the page all the same
  mark(kept.checked);
  kept.addEventListener("change", () => {
    mark(kept.checked);
    try {
      localStorage.setItem(name, kept.checked);
    } catch {}
  });

  // --- The numbers, as buttons -------------------------------------------------------------------

  // Hundreds of numbers must not be hundreds of stops for the Tab key. Each section, table and fold
  // has one stop: the number that was visited last, at first the first. The arrow keys lead from
  // there to all others.
  const numbers = new Map();
  const stops = new Map();

  const add = (element, section) => {
    const lines = element.title.split("\n");
    const inputs = element.dataset.from.split(" ").map(Number);
    const kind = lines.shift();
    const computed = lines.slice(0, lines.length - inputs.filter(Boolean).length);
    element.removeAttribute("title");
    // A screen reader reads a formula itself; beside it stands a button of its own.
    const formula = element.matches(".ws-math");
    const number = formula ? element.appendChild(document.createElement("button")) : element;
    if (formula) {
      number.type = "button";
      number.setAttribute("aria-label", box.dataset.formula);
    } else {
      number.setAttribute("role", "button");
    }
    number.setAttribute("aria-haspopup", "dialog");
    const group = element.closest("table, details") ?? section;
    numbers.set(number, { element, kind, computed, inputs, group });
    number.tabIndex = stops.has(group) ? -1 : 0;
    if (!stops.has(group)) stops.set(group, number);
  };

  let section = page;
  for (const element of page.querySelectorAll("h1, h2, h3, [data-from]")) {
    if (!("from" in element.dataset)) section = element;
    else if (!element.closest("a")) add(element, section);
  }

  const numberAt = (target) => {
    const element = target.closest?.("[data-from]");
    const number = element?.querySelector("button") ?? element;
    return numbers.has(number) ? number : null;
  };

  // --- The box -----------------------------------------------------------------------------------

  let shown = null; // the number whose box is open

  const place = () => {
    const gap = 8;
    const at = numbers.get(shown).element.getBoundingClientRect();
    const { clientWidth, clientHeight } = document.documentElement;
    box.style.maxHeight = "none";
    const header = document.querySelector(".md-header").offsetHeight;
    const [above, below] = [at.top - header - 2 * gap, clientHeight - at.bottom - 2 * gap];
    const under = box.offsetHeight <= below || below >= above;
    box.style.maxHeight = `${Math.max(under ? below : above, 120)}px`;
    const left = Math.max(gap, Math.min(at.left, clientWidth - box.offsetWidth - gap));
    const top = under ? at.bottom + gap : at.top - gap - box.offsetHeight;
    box.style.left = `${left + scrollX}px`;
    box.style.top = `${top + scrollY}px`;
  };

  const close = () => {
    shown?.removeAttribute("aria-describedby");
    shown = null;
    box.hidden = true;
  };

  const open = (number) => {
    if (number === shown) return;
    close();
    shown = number;
    const { kind, computed, inputs } = numbers.get(number);
    head.textContent = `${number.getAttribute("aria-label") ?? number.textContent} · ${kind}`;
    code.textContent = computed.join("\n");
    code.parentElement.hidden = !computed.length;
    list.replaceChildren(...inputs.map((place) => entries[place].cloneNode(true)));
    keys.hidden = !number.matches(":focus-visible");
    number.setAttribute("aria-describedby", box.id);
    box.hidden = false;
    box.scrollTop = 0;
    place();
  };

  addEventListener("resize", () => shown && place());
  // A table that scrolls under its box takes the number along; the page takes both.
  const scrolled = ({ target }) => shown && target !== document && target !== box && place();
  addEventListener("scroll", scrolled, { capture: true, passive: true });

  // --- Pointing ----------------------------------------------------------------------------------

  let timer;
  const later = (milliseconds, action) => {
    clearTimeout(timer);
    timer = setTimeout(action, milliseconds);
  };
  const isFocused = () => [shown, box].some((it) => it?.contains(document.activeElement));

  document.addEventListener("pointerover", ({ target, pointerType }) => {
    if (pointerType !== "mouse") return;
    const number = numberAt(target);
    if (number) later(150, () => open(number));
    else if (box.contains(target)) clearTimeout(timer);
    else later(300, () => isFocused() || close());
  });

  document.addEventListener("pointerdown", ({ target }) => {
    if (!box.contains(target) && numberAt(target) !== shown) close();
  });

  page.addEventListener("click", (event) => {
    const number = numberAt(event.target);
    if (!number) return;
    event.preventDefault(); // the title of a fold would open it
    open(number);
    box.focus({ preventScroll: true });
  });

  // --- Keyboard ----------------------------------------------------------------------------------

  document.addEventListener("focusin", ({ target }) => {
    if (!numbers.has(target)) return box.contains(target) || close();
    const { group } = numbers.get(target);
    stops.get(group).tabIndex = -1;
    stops.set(group, target);
    target.tabIndex = 0;
    open(target);
  });

  const beside = (number, step) => {
    const isSeen = (it) => !it.closest("details:not([open]) > :not(summary)");
    const seen = [...numbers.keys()].filter(isSeen);
    return seen[seen.indexOf(number) + step];
  };
  const beyond = (number, row) => {
    const cell = number.closest("td");
    return cell?.parentElement[row]?.cells[cell.cellIndex]?.querySelector("[data-from]");
  };
  const moves = {
    ArrowLeft: (number) => beside(number, -1),
    ArrowRight: (number) => beside(number, 1),
    ArrowUp: (number) => beyond(number, "previousElementSibling"),
    ArrowDown: (number) => beyond(number, "nextElementSibling"),
  };

  document.addEventListener("keydown", (event) => {
    const { key, target } = event;
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (key === "Escape") {
      if (box.contains(target)) shown.focus();
      close();
    } else if (numbers.has(target) && moves[key]) {
      const next = moves[key](target);
      if (next) event.preventDefault();
      next?.focus();
    } else if (numbers.has(target) && (key === "Enter" || key === " ")) {
      event.preventDefault();
      target.click();
    } else if (key === "Tab" && box.contains(target)) {
      // The box is at the end of the page; Tab leaves it for what comes after its number.
      const links = [box, ...box.querySelectorAll("a")];
      const last = event.shiftKey ? links.slice(0, 2) : links.slice(-1);
      if (!last.includes(target)) return;
      if (event.shiftKey) event.preventDefault();
      shown.focus();
    }
  });
};

{
  const template = document.getElementById("ws-provenance");
  if (template) provenance(template);
}
