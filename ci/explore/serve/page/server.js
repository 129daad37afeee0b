// Questions to the server; what it refuses is one line.

import { store, update } from "./store.js";

export async function ask(name, question) {
  const quiet = name === "job";  // asked again and again: the job has a line of its own
  if (!quiet) update({ waiting: store.waiting + 1 });
  try {
    return await answerTo(name, question);
  } finally {
    if (!quiet) update({ waiting: store.waiting - 1 });
  }
}

async function answerTo(name, question) {
  let response;
  try {
    response = await fetch(`api/${name}`, {
      method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(question),
    });
  } catch {
    throw new Error("the server does not answer; was it ended?");
  }
  const answer = await response.json().catch(() => ({ error: `no answer that can be read (${response.status})` }));
  if (!response.ok) throw new Error(answer.error);
  return answer;
}

const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

// Follows a job until it ends, and reports each answer.
export async function follow(job, report) {
  report(job);
  while (job.state === "running") {
    await pause(250);
    job = await ask("job", { number: job.number });
    report(job);
  }
  return job;
}
