"use strict";
(() => {
  const verdicts = { k: "keep", d: "drop", c: "wrong class", s: "wrong style", u: "unsure" };
  const signs = { keep: "✓ ", drop: "✗ ", unsure: "? " };
  const main = document.querySelector("main");
  const sheet = JSON.parse(main.dataset.sheet);
  const cards = [...document.querySelectorAll("article")].map((element) => {
    const about = JSON.parse(element.dataset.card);
    return { element, about, key: JSON.stringify([about.sha256, about.label, about.style, about.path]) };
  });
  const reviewer = document.getElementById("reviewer");
  const said = document.getElementById("said");
  const place = "oodometer-renditions:" + sheet;
  const namePlace = "oodometer-renditions-reviewer";
  let here = 0;

  function read(key) {
    try { return localStorage.getItem(key); } catch { return null; }
  }

  function write(key, text) {
    try { localStorage.setItem(key, text); } catch { said.textContent = "This browser keeps nothing: save before you close the page."; }
  }

  let decided = {};
  try { decided = Object.assign({}, JSON.parse(read(place) || "{}")); } catch { /* another page's text: begin anew */ }
  reviewer.value = read(namePlace) || "";

  function show() {
    let count = 0;
    for (const { element, key } of cards) {
      const verdict = Object.values(verdicts).includes(decided[key]) ? decided[key] : "";
      element.dataset.verdict = verdict;
      element.querySelector(".verdict").textContent = verdict ? (signs[verdict] || "! ") + verdict : "";
      count += verdict ? 1 : 0;
    }
    document.getElementById("count").textContent = `${count} of ${cards.length} judged`;
  }

  function go(to) {
    cards[here].element.removeAttribute("aria-current");
    here = Math.max(0, Math.min(cards.length - 1, to));
    const { element } = cards[here];
    element.setAttribute("aria-current", "true");
    element.focus({ preventScroll: true });
    element.scrollIntoView({ block: "nearest" });
  }

  function across() {
    const top = cards[0].element.offsetTop;
    const second = cards.findIndex(({ element }) => element.offsetTop !== top);
    return second < 0 ? cards.length : second;
  }

  function decide(verdict) {
    // Another tab may have the same sheet open: what it wrote meanwhile is kept.
    try { decided = Object.assign({}, JSON.parse(read(place) || JSON.stringify(decided))); } catch { /* as above */ }
    if (verdict) decided[cards[here].key] = verdict; else delete decided[cards[here].key];
    write(place, JSON.stringify(decided));
    show();
  }

  function save() {
    if (!reviewer.value.trim()) {
      said.textContent = "Enter your name first: decisions belong to a person.";
      reviewer.focus();
      return;
    }
    const decisions = cards.filter(({ element }) => element.dataset.verdict)
      .map(({ about, element }) => ({ ...about, decision: element.dataset.verdict }));
    const content = { format: main.dataset.format, reviewer: reviewer.value.trim(), decisions };
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([JSON.stringify(content, null, 1) + "\n"], { type: "application/json" }));
    link.download = `decisions-${sheet}-${reviewer.value.trim()}`.replace(/[^\p{L}\p{N}-]+/gu, "_") + ".json";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    said.textContent = `Saved ${decisions.length} decisions as ${link.download}.`;
  }

  document.addEventListener("keydown", (event) => {
    if (event.target === reviewer && event.key === "Enter") go(here);
    if (event.ctrlKey || event.metaKey || event.altKey || event.target === reviewer) return;
    const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -across(), ArrowDown: across() };
    const verdict = verdicts[event.key.toLowerCase()];
    if (verdict && !event.repeat) { decide(verdict); go(here + 1); }
    else if (event.key === "Backspace") decide("");
    else if (event.key in steps) go(here + steps[event.key]);
    else return;
    event.preventDefault();
  });
  cards.forEach(({ element }, index) => element.addEventListener("click", () => go(index)));
  reviewer.addEventListener("input", () => write(namePlace, reviewer.value));
  document.getElementById("save").addEventListener("click", save);
  show();
  const open = cards.findIndex(({ element }) => !element.dataset.verdict);
  go(open < 0 ? 0 : open);
})();
