/** The world around the program: its clients, its upstreams, and the folders that it writes. */
import { mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { startFakeOllama } from '../../fake/ollama.ts';
import { startFakeOpenai } from '../../fake/openai.ts';
import type { FakeModel, ModelCall, Step } from '../../fake/model-server.ts';
import { startReceiver, type Receiver } from '../../fake/receiver.ts';
import { freePort, scratch, webhookConfig, writeConfig } from '../../support/program.ts';
import { runSvc, type Run } from '../../support/run-svc.ts';
import { canary, type Canary, type Seen } from './leaks.ts';
import { patienceMs } from '../../support/waiting.ts';

const secretNames = {
  WEBHOOK_SECRET: 'webhook secret',
  OUT: 'outbound bearer',
  KEY: 'hosted api key',
  LOCAL_KEY: 'local api key',
  ADMIN: 'admin token',
} as const;

/** The answers of a provider, in turn; each error repeats the request. */
const moods: readonly Step[] = [
  { fail: '401' },
  { answer: '' },
  { fail: '500' },
  { fail: 'html' },
  { fail: '429' },
  { fail: 'malformed' },
  { fail: '400' },
];

export class Stage implements AsyncDisposable {
  readonly secrets: Readonly<Record<string, Canary>>;
  readonly canaries: readonly Canary[];
  readonly file: string;
  readonly webhook: string;
  readonly admin: string;
  readonly hosted: FakeModel;
  readonly receiver: Receiver;
  readonly #folder: AsyncDisposable & { readonly path: string };
  readonly #local: FakeModel;
  readonly #runs: { readonly what: string; readonly run: Run; readonly may: Seen['may'] }[] = [];
  readonly #answers: Seen[] = [];

  private constructor(parts: {
    readonly secrets: Readonly<Record<string, Canary>>;
    readonly texts: readonly Canary[];
    readonly folder: AsyncDisposable & { readonly path: string };
    readonly hosted: FakeModel;
    readonly local: FakeModel;
    readonly receiver: Receiver;
    readonly port: number;
    readonly adminPort: number;
    readonly file: string;
  }) {
    this.secrets = parts.secrets;
    this.canaries = [...Object.values(parts.secrets), ...parts.texts];
    this.#folder = parts.folder;
    this.hosted = parts.hosted;
    this.#local = parts.local;
    this.receiver = parts.receiver;
    this.webhook = `http://127.0.0.1:${parts.port}/webhook`;
    this.admin = `http://127.0.0.1:${parts.adminPort}`;
    this.file = parts.file;
  }

  /** @param backend with storage, or with none */
  static async make(seed: number, backend: { readonly storage: boolean }): Promise<Stage> {
    const folder = await scratch();
    for (const name of ['home', 'cwd', 'config']) mkdirSync(join(folder.path, name));
    const secrets = Object.fromEntries(
      Object.entries(secretNames).map(([name, what], i) => [
        name,
        canary('secret', what, seed + i),
      ]),
    );
    const names = ['message text', 'reply text', 'sender id', 'sender name', 'media url'];
    const texts = [...names, 'conversation'].map((name, i) => canary('text', name, seed + 50 + i));
    texts.push(canary('secret', 'wrong bearer', seed + 90), canary('secret', 'query', seed + 91));
    const reply = texts[1]!.value;
    const hosted = await startFakeOpenai((_call, before) => {
      const mood = moods[before % moods.length]!;
      return 'answer' in mood ? { answer: reply } : mood;
    });
    const local = await startFakeOllama((_call, before) =>
      before % 3 === 2 ? { fail: '500' } : { answer: reply },
    );
    const receiver = await startReceiver();
    const [port, adminPort] = [await freePort(), await freePort()];
    const where = { port, adminPort, modelUrl: local.url, receiverUrl: receiver.url };
    const document = configOf(webhookConfig(where), hosted.url, receiver.url, backend.storage);
    const file = await writeConfig(join(folder.path, 'config'), document);
    return new Stage({ secrets, texts, folder, hosted, local, receiver, port, adminPort, file });
  }

  text(name: string): string {
    return this.canaries.find((one) => one.name === name)!.value;
  }

  get database(): string {
    return join(this.#folder.path, 'config', 'svc.db');
  }

  /** Runs `svc <args>`, and records all of its output. */
  run(args: readonly string[], may: Seen['may'] = []): Run {
    const env = Object.entries(this.secrets).map(([name, { value }]) => [name, value] as const);
    const home = join(this.#folder.path, 'home');
    const run = runSvc(args, {
      cwd: join(this.#folder.path, 'cwd'),
      env: { ...Object.fromEntries(env), HOME: home, XDG_CONFIG_HOME: join(home, '.config') },
    });
    this.#runs.push({ what: `svc ${args.slice(0, 2).join(' ')}`, run, may });
    return run;
  }

  /** Sends a request, and records the answer. */
  async ask(url: string, init: RequestInit, may: Seen['may'] = []): Promise<Response> {
    const response = await fetch(url, init);
    const text = await response.clone().text();
    const headers = JSON.stringify([...response.headers]);
    const place = `answer of ${init.method ?? 'GET'} ${new URL(url).pathname}`;
    this.#answers.push({ place, text: text + headers, may });
    return response;
  }

  /** Follows a stream from its beginning until a match of `wanted` comes, and records all of it. */
  async hear(url: string, wanted: RegExp): Promise<void> {
    const headers = { 'last-event-id': 'of another life' };
    const response = await fetch(url, { headers });
    const decoder = new TextDecoder();
    let text = '';
    for await (const part of response.body!) {
      text += decoder.decode(part, { stream: true });
      if (wanted.test(text)) break;
    }
    this.#answers.push({ place: `stream of ${new URL(url).pathname}`, text, may: [] });
  }

  /** Drops a table of the running program, so that its storage fails. */
  spoil(): void {
    const db = new DatabaseSync(this.database);
    // The program may be writing just now.
    db.exec(`PRAGMA busy_timeout = ${patienceMs}; DROP TABLE turns`);
    db.close();
  }

  /** All output of the program so far. */
  seen(): readonly Seen[] {
    const outputs = this.#runs.map(({ what, run, may }) => {
      return { place: `output of ${what}`, text: run.out() + run.err(), may };
    });
    return [...outputs, ...this.#answers, ...this.#files(), ...this.#sent()];
  }

  #files(): readonly Seen[] {
    const names = readdirSync(this.#folder.path, { recursive: true, encoding: 'utf8' });
    return names.flatMap((name): readonly Seen[] => {
      const path = join(this.#folder.path, name);
      if (!statSync(path).isFile()) return [];
      const kept = /\.db(-wal|-shm)?$/.test(name);
      return [{ place: name, text: readFileSync(path, 'latin1'), may: kept ? 'texts' : [] }];
    });
  }

  /** Requests to the models and to the receiver; a secret may stand in its own header only. */
  #sent(): readonly Seen[] {
    const ofCall =
      (place: string) =>
      (call: ModelCall): Seen => {
        const { authorization: _, ...headers } = call.headers;
        return { place, text: call.path + JSON.stringify(headers) + call.text, may: 'texts' };
      };
    return [
      ...this.hosted.calls.map(ofCall('request to the hosted model')),
      ...this.#local.calls.map(ofCall('request to the local model')),
      ...this.receiver.received.map((one): Seen => {
        const headers = { ...one.headers, authorization: 'its own' };
        return { place: 'reply', text: JSON.stringify(headers) + one.text, may: 'texts' };
      }),
    ];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { run } of this.#runs) {
      if (run.child.exitCode === null && run.child.signalCode === null) run.child.kill('SIGKILL');
      await run.ended;
    }
    for (const one of [this.hosted, this.#local, this.receiver, this.#folder]) {
      await one[Symbol.asyncDispose]();
    }
  }
}

function configOf(
  base: ReturnType<typeof webhookConfig>,
  hostedUrl: string,
  outboundUrl: string,
  storage: boolean,
): Record<string, unknown> {
  const [channel] = base.channels;
  const [brain] = base.brains;
  const [local] = brain!['models'] as object[];
  const hosted = { provider: 'hosted_runtime', model_id: 'gpt-test', locality: 'cloud' };
  const { bind } = channel!['webhook'] as { bind: string };
  const webhook = { bind, outbound_url: outboundUrl, outbound_token_env: 'OUT' };
  return {
    ...base,
    channels: [{ ...channel, webhook }],
    brains: [
      {
        ...brain,
        sensitivity: 'public',
        dispatch: 'sequential',
        models: [
          { ...hosted, base_url: hostedUrl, api_key_env: 'KEY', max_retries: 0 },
          { ...local, api_key_env: 'LOCAL_KEY', max_retries: 0 },
        ],
      },
    ],
    admin: { token_env: 'ADMIN' },
    ...(storage && { storage: { path: 'svc.db' } }),
  };
}
