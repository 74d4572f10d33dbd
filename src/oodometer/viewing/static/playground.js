"use strict";
// One request for a picture is under way at a time; of the changes meanwhile only the last one is asked for. The model,
// which may be slow, is asked in the same way, apart from the pictures, so that they never wait for it.
const at = (id) => document.getElementById(id);
const controls = at("controls");
let image = controls.dataset.image;

function serialised(work) {
  let running = false, again = false;
  return async function run() {
    if (running) { again = true; return; }
    running = true;
    do {
      again = false;
      try { await work(); } catch (error) { complain(error.message); }
    } while (again);
    running = false;
  };
}

function complain(words) {
  at("trouble").textContent = words;
  at("trouble").hidden = !words;
}

async function answered(address, options) {
  const answer = await fetch(address, options);
  if (!answer.ok) throw new Error((await answer.json()).error);
  return answer;
}

function asked(what) {
  const query = new URLSearchParams({ image, corruption: at("corruption").value, severity: at("severity").value });
  return `/playground/${what}?${query}`;
}

const draw = serialised(async () => {
  const words = `${at("corruption").selectedOptions[0].text} ${at("severity").value}`;
  const began = performance.now();
  const made = URL.createObjectURL(await (await answered(asked("picture"))).blob());
  const before = at("corrupted").src;
  at("corrupted").src = made;
  await at("corrupted").decode();
  if (before) URL.revokeObjectURL(before);
  complain("");
  at("corrupted").alt = `The image under ${words}`;
  at("caption").textContent = words;
  at("took").textContent = `${Math.round(performance.now() - began)} ms`;
});

const ask = serialised(async () => {
  const said = await (await answered(asked("prediction"))).json();
  at("best").textContent = `${said.best}, ${(100 * said.confidence).toFixed(1)} %`;
  at("confidence").value = said.confidence;
  at("others").textContent = `Then ${said.others.join("; ")}`;
});

function change() {
  at("shown").textContent = Number(at("severity").value).toFixed(1);
  if (!image) return;
  draw();
  if (controls.dataset.asks) ask();
}

function play(token, label) {
  image = token;
  at("stage").hidden = false;
  at("clean").src = `/playground/picture?${new URLSearchParams({ image, corruption: "fog", severity: 0 })}`;
  at("label").textContent = label;
  for (const link of document.querySelectorAll("#picks a")) {
    if (link.dataset.image === token) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
  change();
}

async function upload(file) {
  if (!file) return;
  if (file.size > Number(controls.dataset.most)) {
    complain(`The file is larger than ${controls.dataset.most / 1e6} MB.`);
    return;
  }
  try {
    const headers = { "content-type": "application/octet-stream" };
    const answer = await answered("/playground/uploads", { method: "POST", headers, body: file });
    complain("");
    play((await answer.json()).image, "");
  } catch (error) {
    complain(error.message);
  }
}

at("severity").addEventListener("input", change);
at("corruption").addEventListener("change", change);
at("file").addEventListener("change", () => upload(at("file").files[0]));
controls.addEventListener("submit", (event) => event.preventDefault());
at("picks")?.addEventListener("click", (event) => {
  const link = event.target.closest("a");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  play(link.dataset.image, link.dataset.label);
});
change();
