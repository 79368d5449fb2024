// Fetches what has changed every two seconds and takes it over element by element, so that whoever
// is within it keeps the focus, the selection and what is open. Without it the page reloads itself.
"use strict";

const PAUSE_MS = 2000;
const PATIENCE_MS = 8000;
const live = document.getElementById("live");
const silence = document.getElementById("silence");
const pause = document.getElementById("pause");
const KEPT = { DETAILS: "open" }; // what belongs to who looks, not to the server

let answeredAt = Date.now();

function isSame(one, other) {
  return one.nodeName === other.nodeName && (one.id || "") === (other.id || "");
}

function takeOver(old, fresh) {
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.data !== fresh.data) old.data = fresh.data;
    return;
  }
  for (const { name } of [...old.attributes]) {
    if (!fresh.hasAttribute(name) && KEPT[old.nodeName] !== name) old.removeAttribute(name);
  }
  for (const { name, value } of fresh.attributes) {
    if (old.getAttribute(name) !== value && KEPT[old.nodeName] !== name) old.setAttribute(name, value);
  }
  takeOverWithin(old, fresh);
}

// Children with an id are found wherever they are now; others are compared in their sequence.
function takeOverWithin(old, fresh) {
  const known = new Map([...old.children].filter((one) => one.id).map((one) => [one.id, one]));
  let next = old.firstChild;
  for (const child of [...fresh.childNodes]) {
    const named = child.id ? known.get(child.id) : undefined;
    if (named && named !== next && named.nodeName === child.nodeName) {
      old.insertBefore(named, next);
      next = named;
    }
    if (next && isSame(next, child)) {
      const after = next.nextSibling;
      takeOver(next, child);
      next = after;
    } else {
      old.insertBefore(document.importNode(child, true), next);
    }
  }
  while (next) {
    const after = next.nextSibling;
    next.remove();
    next = after;
  }
}

function sayHowOld() {
  const seconds = Math.round((Date.now() - answeredAt) / 1000);
  const isSilent = seconds * 1000 > PATIENCE_MS && !isPaused();
  silence.hidden = !isSilent;
  const text = `This page's own server does not answer: what is here is ${seconds} s old.`;
  if (isSilent && silence.textContent !== text) silence.textContent = text;
}

function isPaused() {
  return pause.getAttribute("aria-pressed") === "true";
}

async function look() {
  try {
    const answer = await fetch(live.dataset.from, { signal: AbortSignal.timeout(PATIENCE_MS) });
    if (!answer.ok) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (isPaused()) return;
    takeOverWithin(live, fresh.body);
    answeredAt = Date.now();
    const heading = document.querySelector("#headline h1");
    document.title = `${heading.textContent} · Outbox pipeline`;
  } catch {
    // It is said below, once it has lasted.
  }
}

async function keepLooking() {
  if (!document.hidden && !isPaused()) await look();
  sayHowOld();
  setTimeout(keepLooking, PAUSE_MS);
}

pause.hidden = false;
pause.addEventListener("click", () => {
  pause.setAttribute("aria-pressed", String(!isPaused()));
  pause.textContent = isPaused() ? "Go on" : "Pause";
  answeredAt = Date.now();
});
document.addEventListener("visibilitychange", () => {
  if (!document.hidden && !isPaused()) look();
});
setTimeout(keepLooking, PAUSE_MS);
