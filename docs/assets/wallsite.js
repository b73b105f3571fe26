// The page works without this file; it makes two things smoother.

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
