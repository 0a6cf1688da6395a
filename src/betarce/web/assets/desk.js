// The page of the server: one view at a time, by the address.

import { annex } from "./annex.js";
import { useRun } from "./api.js";
import { replaced } from "./dom.js";
import { promise, promises } from "./promises.js";
import { useTexts } from "./texts.js";
import { follow, markLink } from "./views.js";
import { Workbench } from "./workbench.js";

const PAUSE_MS = 1000;

// The server shows the page at once, and answers when its models are loaded; on a slow machine it is asked again.
async function opened() {
  for (;;) {
    const answer = await fetch("api/state", { credentials: "omit" }).catch(() => null);
    if (answer?.ok) return answer.json();
    await new Promise((done) => setTimeout(done, PAUSE_MS));
  }
}

async function start() {
  const state = await opened();
  useTexts(state.texts);
  useRun(state.run);
  const page = { ...state, votes: [], people: [], made_with: {} };
  const workbench = new Workbench(page);
  const main = document.getElementById("main");
  const draw = () => {
    const [, view = "", rest = ""] = location.hash.split("/");
    const views = {
      annex: () => annex(page),
      promises: () => promises(Number.parseInt(rest, 10) || 0),
      promise: () => promise(rest),
    };
    replaced(main, (views[view] ?? (() => workbench.node))());
    const current = `#/${view === "promise" ? "promises" : view}`;
    markLink((link) => link.getAttribute("href") === current);
  };
  follow(main, draw);
}

start();
