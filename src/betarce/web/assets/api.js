// Questions to the server, and what it says when it cannot answer.

import { say } from "./texts.js";

let run = "";

export function useRun(given) {
  run = given;
}

export class Refused extends Error {}

export function get(path) {
  return request(path, {});
}

export function post(path, question) {
  const body = JSON.stringify({ run, ...question });
  return request(path, { method: "POST", headers: { "content-type": "application/json" }, body });
}

async function request(path, options) {
  let answer;
  try {
    answer = await fetch(`api/${path}`, { ...options, credentials: "omit" });
  } catch {
    throw new Refused(say("desk.connection"));
  }
  const data = await answer.json().catch(() => ({ error: "bug", details: {} }));
  if (!answer.ok) throw new Refused(say(`errors.${data.error}`, data.details));
  return data;
}
