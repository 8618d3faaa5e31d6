/** Figures of the real program: its counts before and after a restart. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import type { FiguresSummary } from '../../src/admin/figures.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { startReceiver } from '../fake/receiver.ts';
import { freePort, post, scratch, serve, webhookConfig, writeConfig } from '../support/program.ts';
import { patienceMs, until } from '../support/waiting.ts';

const model = 'local_runtime/llama3.2';

/** A program with that storage, its model and its receiver. */
async function stage(storage: (folder: string) => object | null) {
  const own = new AsyncDisposableStack();
  const { path } = own.use(await scratch());
  const fake = own.use(await startFakeOllama(() => ({ answer: 'hello' })));
  const receiver = own.use(await startReceiver());
  const begin = async () => {
    const [port, adminPort] = [await freePort(), await freePort()];
    const where = { port, adminPort, modelUrl: fake.url, receiverUrl: receiver.url };
    const kept = storage(path);
    const document = { ...webhookConfig(where), ...(kept === null ? {} : { storage: kept }) };
    const svc = own.use(await serve(await writeConfig(path, document), port));
    const figures = async (): Promise<FiguresSummary> =>
      (await (
        await fetch(`http://127.0.0.1:${adminPort}/api/v1/figures`)
      ).json()) as FiguresSummary;
    const say = async (text: string): Promise<void> => {
      const came = receiver.received.length;
      assert.equal((await post(svc.url, { sender_id: 'ada', text })).status, 200);
      await until('a reply', async () => receiver.received.length > came);
    };
    const stop = async (): Promise<void> => {
      svc.child.kill('SIGTERM');
      assert.equal(await svc.ended, 0);
    };
    return { figures, say, stop };
  };
  return { begin, [Symbol.asyncDispose]: () => own[Symbol.asyncDispose]() };
}

const total = (counts: readonly number[]): number => counts.reduce((sum, one) => sum + one, 0);

/** One hour's counts of messages, answers, the model's calls and its tokens. */
function sums({ whole, models }: FiguresSummary): readonly number[] {
  const calls = models.filter((one) => one.model === model).map(({ answered }) => total(answered));
  const { accepted, answered, failed, inputTokens, outputTokens } = whole;
  return [accepted, answered, failed, calls, inputTokens, outputTokens].map(total);
}

const told = (messages: number): readonly number[] => {
  return [messages, messages, 0, messages, 26 * messages, 29 * messages];
};

test('without storage the running service tells what it counted', async () => {
  await using it = await stage(() => null);
  const one = await it.begin();
  await one.say('hello');
  const figures = await one.figures();
  assert.deepEqual(sums(figures), told(1));
  assert.equal(figures.configs.length, 1);
  assert.ok(figures.since !== null && Date.now() - figures.since < 2 * patienceMs);
  assert.equal(figures.off.at(-1), false);
  assert.equal(figures.off[0], true);
  assert.ok(figures.whole.p50Ms.some((ms) => ms !== null));
});

test('a service that is started again tells what it counted before', async () => {
  await using it = await stage((folder) => ({ path: join(folder, 'svc.db') }));
  const one = await it.begin();
  await one.say('hello');
  const since = (await one.figures()).since;
  await one.stop();
  const other = await it.begin();
  await other.say('and again');
  const figures = await other.figures();
  assert.deepEqual(sums(figures), told(2));
  assert.equal(figures.since, since);
});
