/** svc as one process, or as two on one database, with a budget for its brain. */
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { adminToken, askAdmin } from '../../config/program.ts';
import { newDatabase } from '../../fake/postgres.ts';
import { Way } from '../../fake/postgres/way.ts';
import {
  freePort,
  secret,
  startProgram,
  webhookConfig,
  writeConfig,
  type Program,
} from '../../support/program.ts';
import { outcomeOf } from '../../support/run-svc.ts';
import { Rows } from '../many/rows.ts';
import { stopAsAsked } from '../outside.ts';
import { spawnPast } from '../ran-alone.ts';
import { until } from '../../support/waiting.ts';

/** The delay of each connection to the server, so that the reads and writes of two svc overlap. */
const latencyMs = 5;

export type Backend = 'memory' | 'sqlite' | 'postgres';

/** A line of `svc spend --json`. */
export type SpendLine = {
  readonly key: string;
  readonly calls: number;
  readonly tokens: { readonly input: number; readonly output: number };
  readonly open: { readonly input: number; readonly output: number };
  readonly cost: string | null;
  readonly openCost: string | null;
};

type Instance = { readonly port: number; readonly adminPort: number; program: Program | null };
type Kept = { readonly block: object; readonly env: Record<string, string> } | null;

export class Deployment implements AsyncDisposable {
  readonly instances: readonly Instance[];
  /** The configuration's text, from which trials make their drafts. */
  readonly text: string;
  readonly backend: Backend;
  readonly #file: string;
  readonly #env: Record<string, string>;
  /** The storage: a file, or a database of a server. */
  readonly #place: string;
  readonly #own: AsyncDisposableStack;
  #lives = 0;
  #asked = 0;

  private constructor(parts: Pick<Deployment, 'instances' | 'text' | 'backend'> & Settings) {
    this.instances = parts.instances;
    this.text = parts.text;
    this.backend = parts.backend;
    this.#file = parts.file;
    this.#env = parts.env;
    this.#place = parts.place;
    this.#own = parts.own;
  }

  static async start(place: Place): Promise<Deployment> {
    const { backend, folder, brain, receiverUrl } = place;
    mkdirSync(join(folder, 'store'), { mode: 0o700 });
    const instances: Instance[] = [];
    for (let at = 0; at < (backend === 'postgres' ? 2 : 1); at++) {
      instances.push({ port: await freePort(), adminPort: await freePort(), program: null });
    }
    const [{ port, adminPort }] = instances as [Instance];
    await using own = new AsyncDisposableStack();
    const url = backend === 'postgres' ? await newDatabase() : join(folder, 'store', 'svc.db');
    const way = backend === 'postgres' ? own.use(await Way.to(url)) : null;
    if (way !== null) way.latencyMs = latencyMs;
    const kept = keptAt(backend, way?.url(url) ?? url);
    const where = { port, adminPort, modelUrl: 'http://127.0.0.1', receiverUrl };
    const document = {
      ...webhookConfig(where),
      brains: [brain],
      routes: [{ channel: 'webhook', brain: (brain as { name: string }).name }],
      admin: { token_env: 'ADMIN_TOKEN' },
      ...(kept !== null && { storage: kept.block }),
    };
    const file = await writeConfig(folder, document);
    const env = {
      WEBHOOK_SECRET: secret,
      ADMIN_TOKEN: adminToken,
      TZ: zoneAtNoon(Date.now()),
      ...kept?.env,
    };
    const text = JSON.stringify(document);
    const made = new Deployment({
      instances,
      text,
      backend,
      file,
      env,
      place: url,
      own: own.move(),
    });
    await Promise.all(instances.map((_, at) => made.begin(at)));
    return made;
  }

  /** Resolves once it listens. Each start has a key of its own, which the provider sees. */
  async begin(at: number): Promise<void> {
    const instance = this.instances[at]!;
    const { port, adminPort } = instance;
    const webhook = ['--webhook-bind', `127.0.0.1:${port}`];
    const where = [...webhook, '--admin-addr', `127.0.0.1:${adminPort}`];
    const env = { ...this.#env, API_KEY: `life-${this.#lives++}` };
    const spawn = (): Program => startProgram(['serve', '--config', this.#file, ...where], env);
    instance.program = this.backend === 'sqlite' ? await spawnPast(this.#place, spawn) : spawn();
    await instance.program.saw('"listening"');
  }

  /** SIGKILL. @param struck called at that moment */
  async kill(at: number, struck: () => void): Promise<void> {
    if (this.backend === 'postgres') {
      const rows = new Rows(() => this.#place);
      await until('an answer to what ran alone', async () => !(await rows.ranAlone()));
    }
    const { program } = this.instances[at]!;
    program!.child.kill('SIGKILL');
    struck();
    assert.equal(await program!.ended, 'SIGKILL', program!.log().slice(-2_000));
  }

  /** Stops all as asked. */
  async end(): Promise<void> {
    for (const { program } of this.instances) await stopAsAsked(program!);
  }

  /** The lines of a running svc. */
  async spent(by: 'model' | 'sender'): Promise<readonly SpendLine[]> {
    // An answer is cached for seconds, for that number of days.
    const days = 400 - (this.#asked++ % 300);
    const path = by === 'model' ? `spend?by=model&days=${days}` : `spend/senders?days=${days}`;
    const { status, body } = await askAdmin(this.instances[0]!.adminPort, path);
    assert.equal(status, 200, JSON.stringify(body));
    return (body as unknown as { rows: SpendLine[] }).rows;
  }

  /** `svc spend --json` on a database that nobody has open. */
  async spentInAll(by: 'model' | 'sender'): Promise<readonly SpendLine[]> {
    const args = ['spend', '--json', '--by', by, '--config', this.#file];
    const outcome = await outcomeOf(args, { env: this.#env });
    assert.equal(outcome.code, 0, outcome.err);
    return (JSON.parse(outcome.out) as { rows: SpendLine[] }).rows;
  }

  /** The last log lines of each, for the report of a failure. */
  logs(): string {
    return this.instances.map(({ program }) => program?.log().slice(-3_000)).join('\n');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { program } of this.instances) await program?.[Symbol.asyncDispose]();
    await this.#own.disposeAsync();
  }
}

export type Place = {
  readonly backend: Backend;
  readonly folder: string;
  readonly brain: object;
  readonly receiverUrl: string;
};

type Settings = {
  readonly file: string;
  readonly env: Record<string, string>;
  readonly place: string;
  readonly own: AsyncDisposableStack;
};

function keptAt(backend: Backend, place: string): Kept {
  switch (backend) {
    case 'memory':
      return null;
    case 'sqlite':
      return { block: { path: 'store/svc.db' }, env: {} };
    case 'postgres':
      return { block: { url_env: 'LETTERS_URL' }, env: { LETTERS_URL: place } };
    default:
      return backend satisfies never;
  }
}

/** A zone in which it is about noon, so that no day ends during a proof. */
function zoneAtNoon(now: number): string {
  const ahead = new Date(now).getUTCHours() - 12;
  // These names count the other way round.
  return `Etc/GMT${ahead < 0 ? '' : '+'}${ahead}`;
}
