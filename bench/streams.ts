/**
 * Measures what the completions API adds to a model's first token while 200 clients stream.
 * The same client asks the model itself and, in turns, svc before it. A wave begins one stream each
 * 10 ms, so that neither path waits in a crowd of its own making. Every stream lasts until after
 * the last has begun. The time of a stream runs from its request to its first text.
 */
import { writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { freePort, type Backend, type Lab } from './lab.ts';
import { median } from './stats.ts';

const streams = 200;
const everyMs = 10;
export const firstTokenMs = 200;
export const tokensPerSecond = 15;
/** A stream lasts twice as long as it takes to begin all of them. */
export const tokens = Math.ceil((2 * streams * everyMs * tokensPerSecond) / 1_000);
const key = 'a-key-for-the-bench-only';

/** Milliseconds to the first text. `together`: the most streams that were open at one time. */
export type Waves = {
  readonly directMs: readonly number[];
  readonly svcMs: readonly number[];
  /** Of each stream through svc: its time without the median time of the direct ones. */
  readonly addedMs: readonly number[];
  readonly together: number;
  readonly faults: number;
};

type Wave = { readonly ms: readonly number[]; readonly together: number; readonly faults: number };

export async function streamWaves(lab: Lab, backend: Backend, waves: number): Promise<Waves> {
  const [, model] = await lab.help('stream-model.ts');
  const port = await freePort();
  const file = join(lab.folder, `streams-${port}.json`);
  const config = await configOf(`${model}/v1`, port, backend, file.replace(/json$/, 'db'));
  writeFileSync(file, JSON.stringify(config), { mode: 0o600 });
  const env = { BENCH_KEY: key };
  const { pid } = await lab.boot([lab.program, 'serve', '--config', file], port, env);
  const svc = `http://127.0.0.1:${port}`;
  const agent = new Agent({ keepAlive: true, maxSockets: streams });
  const taken: (readonly [direct: Wave, svc: Wave])[] = [];
  // The first wave opens the connections and compiles the code for the others.
  for (let at = 0; at <= waves; at++) {
    const both = [await waveOf(agent, model), await waveOf(agent, svc)] as const;
    if (at > 0) taken.push(both);
  }
  agent.destroy();
  await lab.stop(pid);
  const directMs = taken.flatMap(([direct]) => direct.ms);
  const svcMs = taken.flatMap(([, one]) => one.ms);
  const usual = median(directMs);
  return {
    directMs,
    svcMs,
    addedMs: svcMs.map((ms) => ms - usual),
    together: Math.min(...taken.flat().map(({ together }) => together)),
    faults: taken.flat().reduce((sum, { faults }) => sum + faults, 0),
  };
}

async function configOf(
  modelUrl: string,
  port: number,
  backend: Backend,
  path: string,
): Promise<object> {
  const base = { provider: 'hosted_runtime', model_id: 'bench', locality: 'local' };
  const models = [{ ...base, base_url: modelUrl }];
  return {
    brains: [{ name: 'bench', sensitivity: 'public', policy: { kind: 'priority' }, models }],
    completions: { bind: `127.0.0.1:${port}`, token_env: 'BENCH_KEY' },
    observability: { addr: `127.0.0.1:${await freePort()}` },
    ...(backend === 'durable' ? { storage: { path } } : {}),
  };
}

async function waveOf(agent: Agent, origin: string): Promise<Wave> {
  let [open, together, faults] = [0, 0, 0];
  const ms: number[] = [];
  const begun = performance.now();
  const all = Array.from({ length: streams }, async (_, at) => {
    const dueMs = begun + at * everyMs - performance.now();
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, dueMs)));
    together = Math.max(together, ++open);
    const first = await firstTextMs(agent, origin).catch(() => null);
    if (first === null) faults++;
    else ms.push(first);
    open--;
  });
  await Promise.all(all);
  return { ms, together, faults };
}

/** Reads a stream to its end. @returns when its first text came; null: it did not end well */
function firstTextMs(agent: Agent, origin: string): Promise<number | null> {
  const messages = [{ role: 'user', content: 'Count to a hundred, please.' }];
  const body = JSON.stringify({ model: 'bench', messages, stream: true });
  return new Promise((resolve, reject) => {
    const startedAt = performance.now();
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const url = `${origin}/v1/chat/completions`;
    const sent = request(url, { method: 'POST', agent, headers }, (response) => {
      let firstMs: number | null = null;
      let tail = '';
      response.setEncoding('latin1');
      response.on('data', (part: string) => {
        if (firstMs === null && /"content":"[^"]/.test(tail + part)) {
          firstMs = performance.now() - startedAt;
        }
        tail = (tail + part).slice(-200);
      });
      response.on('error', reject);
      response.on('end', () => resolve(tail.includes('[DONE]') ? firstMs : null));
    });
    sent.on('error', reject);
    sent.end(body);
  });
}
