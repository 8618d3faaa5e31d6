/**
 * Recorded exchanges of other makers' servers (`test/fixtures/providers/`), replayed through the
 * whole program. A person's messages go in. The server gives its recorded answers, and refuses what
 * the real one refuses. The replies come out. The README there describes the format.
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import type { Story } from '../../src/domain/story.ts';
import { startReceiver } from '../fake/receiver.ts';
import { serveHere } from '../support/in-process.ts';
import { freePort, post, scratch, webhookConfig, writeConfig } from '../support/program.ts';

/** A request, and the answer to it. */
type Step = {
  /** The expected contents: a path with dots, `-1` for the last of a list, to a value. */
  readonly asked?: Readonly<Record<string, unknown>>;
  /** Paths that the request lacks. */
  readonly lacks?: readonly string[];
  /** The status of the answer; by default 200. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** A text is sent unchanged. */
  readonly body: unknown;
};

type Exchange = {
  readonly name: string;
  /** The source of the recorded behaviour. */
  readonly source: string;
  /** Fields of the model and of the brain, beside those of the file. */
  readonly model?: object;
  readonly brain?: object;
  /** Follows the address of the server in `base_url`. */
  readonly base?: string;
  /** The answer at any other path; by default 404. */
  readonly elsewhere?: Step;
  readonly says: readonly string[];
  readonly steps: readonly Step[];
  /** The whole text of each reply; one in slashes is a pattern. */
  readonly replies: readonly string[];
  /** Lines in the operator's log. */
  readonly log?: readonly string[];
  /** Tokens of the last call, as in the trace of the last message. */
  readonly used?: { readonly input: number; readonly output: number; readonly cached?: number };
};

type Recorded = {
  readonly server: string;
  readonly provider: 'hosted_runtime' | 'local_runtime';
  readonly model: string;
  readonly exchanges: readonly Exchange[];
};

const folder = join(import.meta.dirname, '../fixtures/providers');
const files = readdirSync(folder).filter((file) => file.endsWith('.json'));
const all = files.map((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')) as Recorded);

for (const recorded of all) {
  suite(recorded.server, { concurrency: 2 }, () => {
    for (const exchange of recorded.exchanges) {
      test(exchange.name, () => replay(recorded, exchange));
    }
  });
}

test('there are recorded exchanges of twenty servers', () => {
  assert.ok(new Set(all.map(({ server }) => server)).size >= 20);
  const pairs = all.flatMap(({ exchanges }) => exchanges.flatMap(({ steps }) => steps));
  assert.ok(pairs.length >= 60, `${pairs.length} pairs of a request and its answer`);
});

async function replay(recorded: Recorded, exchange: Exchange): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const scratched = stack.use(await scratch());
  const server = stack.use(await startServer(recorded, exchange));
  const receiver = stack.use(await startReceiver());
  const [port, adminPort] = [await freePort(), await freePort()];
  const modelUrl = `${server.url}${exchange.base ?? basesOf[recorded.provider]}`;
  const where = { port, adminPort, modelUrl, receiverUrl: receiver.url };
  const config = webhookConfig(where);
  const brain = config.brains[0]!;
  const { provider, model } = recorded;
  const [one] = brain['models'] as object[];
  const key = provider === 'hosted_runtime' ? { api_key_env: 'MODEL_KEY' } : {};
  Object.assign(one!, { provider, model_id: model, ...key, max_retries: 0 }, exchange.model);
  Object.assign(brain, exchange.brain);
  const file = await writeConfig(scratched.path, { ...config, storage: { path: 'svc.db' } });
  const program = stack.use(await serveHere(file, port, { MODEL_KEY: 'key-of-nobody-0123' }));
  let id = '';
  for (const [turn, text] of exchange.says.entries()) {
    const { body } = await post(program.url, { sender_id: 'ada', text });
    id = String(body['message_id']);
    const replies = await receiver.waitFor(turn + 1);
    const reply = String(replies[turn]!.body['text']);
    const wanted = exchange.replies[turn]!;
    const pattern = /^\/([^]*)\/$/.exec(wanted)?.[1];
    if (pattern === undefined)
      assert.equal(reply, wanted, server.complaint ?? 'the reply is another');
    else assert.match(reply, new RegExp(pattern), server.complaint ?? 'the reply is another');
  }
  assert.equal(server.complaint, null);
  assert.equal(server.left(), 0, 'the server was asked less often than it was recorded');
  for (const words of exchange.log ?? []) {
    assert.ok(program.log().includes(words), `the log has no "${words}":\n${program.log()}`);
  }
  if (exchange.used === undefined) return;
  const told = await fetch(`http://127.0.0.1:${adminPort}/api/v1/messages/${id}`);
  const { trace } = (await told.json()) as Story;
  const call = trace!.steps.findLast((step) => step.kind === 'model')!;
  assert.deepEqual(call.tries.at(-1)!.tokens, { cached: null, ...exchange.used, estimated: false });
}

const basesOf = { hosted_runtime: '/v1', local_runtime: '' } as const;
const pathsOf = { hosted_runtime: '/v1/chat/completions', local_runtime: '/api/chat' } as const;

/** Answers step by step; at other paths with `elsewhere`. */
async function startServer({ provider, model }: Recorded, { steps, elsewhere }: Exchange) {
  let asked = 0;
  const state: { complaint: string | null } = { complaint: null };
  const server = createServer((request, response) => {
    void (async () => {
      let text = '';
      request.setEncoding('utf8');
      for await (const part of request) text += part as string;
      if (request.url === '/api/tags')
        return send(response, { body: { models: [{ name: model }] } });
      if (request.method !== 'POST' || request.url !== pathsOf[provider]) {
        return send(response, elsewhere ?? { status: 404, body: '404 page not found' });
      }
      const step = steps[asked++];
      const wrong = step === undefined ? 'one more request came' : faultIn(text, step);
      if (wrong === null) return send(response, step!);
      state.complaint ??= `request ${asked}: ${wrong} in ${text}`;
      send(response, { status: 500, body: { error: 'the request is not as it was recorded' } });
    })();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get complaint() {
      return state.complaint;
    },
    left: () => Math.max(0, steps.length - asked),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}

function send(response: ServerResponse, { status = 200, headers, body }: Step): void {
  const isText = typeof body === 'string';
  response.writeHead(status, {
    'content-type': isText ? 'text/plain' : 'application/json',
    ...headers,
  });
  response.end(isText ? body : JSON.stringify(body));
}

/** The difference from the recorded request; null: none. */
function faultIn(text: string, { asked = {}, lacks = [] }: Step): string | null {
  const body: unknown = JSON.parse(text);
  for (const [path, wanted] of Object.entries(asked)) {
    const found = JSON.stringify(valueAt(body, path));
    if (found !== JSON.stringify(wanted))
      return `${path} is ${found}, not ${JSON.stringify(wanted)}`;
  }
  const there = lacks.find((path) => valueAt(body, path) !== undefined);
  return there === undefined ? null : `${there} is there`;
}

/** `messages.length` is the number of messages. */
function valueAt(body: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((value, key) => {
    if (Array.isArray(value)) return key === 'length' ? value.length : value.at(Number(key));
    return (value as Record<string, unknown> | null | undefined)?.[key];
  }, body);
}
