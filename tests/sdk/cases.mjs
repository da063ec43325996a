// Runs cases one after another and tells of each in a line of JSON.
import assert from "node:assert/strict";

export { assert };

const cases = [];
const state = process.env.TEST_STATE;

export const daemon = {
  state,
  url: process.env.TEST_URL,
  key: process.env.TEST_KEY,
};

export function test(name, body) {
  cases.push([name, body]);
}

/** Asks again until it holds. */
export async function until(what, condition) {
  const deadline = Date.now() + 20_000;
  for (;;) {
    const answer = await condition();
    if (answer) return answer;
    if (Date.now() > deadline) throw new Error(`not within 20 s: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

export async function fails(promise, family) {
  try {
    await promise;
  } catch (error) {
    if (family && !(error instanceof family)) throw error;
    return error;
  }
  throw new Error(`it did not fail, but should have with ${family?.name}`);
}

export async function runAll() {
  for (const [name, body] of cases) {
    let error;
    let timer;
    try {
      const late = new Promise((_, reject) => (timer = setTimeout(() => reject(new Error("no end within 60 s")), 60_000)));
      await Promise.race([body(), late]);
    } catch (thrown) {
      error = thrown instanceof Error ? `${thrown.stack}\n${thrown.cause ?? ""}` : String(thrown);
    } finally {
      clearTimeout(timer);
    }
    console.log(JSON.stringify({ name, error }));
  }
}
