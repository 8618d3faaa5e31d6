/**
 * Kills the program with storage at random moments and holds what it delivered against a ledger
 * kept outside of it: every 200 that was sent, every reply that came.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { ModelCall } from './fake/model-server.ts';
import { startFakeOllama } from './fake/ollama.ts';
import { startReceiver, type Received } from './fake/receiver.ts';
import { freePort, post, scratch, serve, webhookConfig, writeConfig } from './program.ts';

const kills = Number(process.env['SVC_KILLS'] ?? 6);
const seed = Number(process.env['SVC_SEED'] ?? Date.now() % 1_000_000);
const speakers = 6;

/** Numbers from 0 up to 1, the same for the same seed (mulberry32). */
function seeded(start: number): () => number {
  let state = start;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const linesOf = ({ body }: ModelCall): readonly string[] =>
  (body as { messages: { content: string }[] }).messages.map(({ content }) => content);

/** Everybody says one thing after the other, and the same again when no answer came. */
class Speakers {
  readonly accepted = new Map<string, string[]>();
  #over = false;
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  async speak(conversation: string): Promise<void> {
    const ids: string[] = [];
    this.accepted.set(conversation, ids);
    for (let number = 0; !this.#over; number++) {
      ids.push(await this.#say(conversation, `${conversation} ${number}`));
      await pause(20);
    }
  }

  end(): void {
    this.#over = true;
  }

  async #say(conversation: string, text: string): Promise<string> {
    const message = { sender_id: conversation, text };
    for (;;) {
      const answer = await post(this.#url, message, { 'webhook-id': text }).catch(() => null);
      if (answer?.status === 200) return String(answer.body['message_id']);
      await pause(10);
    }
  }
}

/** Every repeat has its reply's id, a higher number, and the text of the first. */
function checkRepeats(received: readonly Received[]): void {
  const last = new Map<unknown, { id: unknown; attempt: number; text: unknown }>();
  for (const { headers, body } of received) {
    const id = headers['webhook-id'];
    const attempt = Number(headers['svc-attempt']);
    const before = last.get(body['in_reply_to']);
    last.set(body['in_reply_to'], { id, attempt, text: body['text'] });
    if (before === undefined) continue;
    assert.deepEqual([id, body['text']], [before.id, before.text]);
    assert.ok(attempt > before.attempt, `try ${attempt} after try ${before.attempt}`);
  }
}

/** What a turn is shown is what was said before it, each with its answer, nothing left out. */
function checkHistory(calls: readonly ModelCall[]): void {
  for (const call of calls) {
    const lines = linesOf(call);
    const [conversation, number] = lines.at(-1)!.split(' ') as [string, string];
    const shown = Math.min(20, Number(number));
    const expected = Array.from({ length: shown }, (_, i) => {
      const said = `${conversation} ${Number(number) - shown + i}`;
      return [said, `re: ${said}`];
    });
    assert.deepEqual(lines.slice(0, -1), expected.flat());
  }
}

test(`${kills} kills: 0 lost, unmarked or out of order (seed ${seed})`, async () => {
  await using folder = await scratch();
  await using receiver = await startReceiver();
  await using model = await startFakeOllama((call) => ({
    answer: `re: ${linesOf(call).at(-1)}`,
    delayMs: 10,
  }));
  const [port, adminPort] = [await freePort(), await freePort()];
  const where = { port, adminPort, modelUrl: model.url, receiverUrl: receiver.url };
  const config = { ...webhookConfig(where), storage: { path: 'svc.db' } };
  const file = await writeConfig(folder.path, config);
  const random = seeded(seed);
  const crowd = new Speakers(`http://127.0.0.1:${port}/webhook`);
  const speaking: Promise<void>[] = [];
  for (let killed = 0; killed < kills; killed++) {
    await using program = await serve(file, port);
    if (killed === 0) for (let i = 0; i < speakers; i++) speaking.push(crowd.speak(`c${i}`));
    // Few: each failed try makes its conversation wait longer, and the test with it.
    if (killed % 8 === 0) receiver.script.push(503, 503);
    await pause(50 + random() * 300);
    program.child.kill('SIGKILL');
    await program.ended;
  }
  await using program = await serve(file, port);
  crowd.end();
  await Promise.all(speaking);
  const answered = (): Set<unknown> =>
    new Set(receiver.received.map(({ body }) => body['in_reply_to']));
  const said = [...crowd.accepted.values()].flat();
  const limit = Date.now() + 20_000;
  while (said.some((id) => !answered().has(id)) && Date.now() < limit) await pause(50);
  program.child.kill('SIGTERM');
  assert.equal(await program.ended, 0);
  assert.equal(answered().size, said.length, 'every accepted message has one reply, and no other');
  for (const [conversation, ids] of crowd.accepted) {
    const own = receiver.received.filter(({ body }) => body['conversation_id'] === conversation);
    assert.deepEqual([...new Set(own.map(({ body }) => body['in_reply_to']))], ids);
  }
  checkRepeats(receiver.received);
  checkHistory(model.calls);
});
