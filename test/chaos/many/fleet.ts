/** Several svc on one database, each with its own connections to both of its servers. */
import assert from 'node:assert/strict';
import { Way } from '../../fake/postgres/way.ts';
import type { PostgresServer } from '../../fake/postgres/server.ts';
import {
  freePort,
  scratch,
  startProgram,
  writeConfig,
  type Program,
} from '../../support/program.ts';
import { Instance } from './instance.ts';
import { Rows } from './rows.ts';
import { until } from '../../support/waiting.ts';

const minuteMs = 60_000;
/** The largest error of an instance's time of day, ahead or behind. */
const skewMsMax = 5 * minuteMs;

/** One server, or several with the same data. */
export type Servers = {
  readonly both: readonly PostgresServer[];
  /** The server that takes writes. */
  readonly primary: PostgresServer;
  /** @param ports by which a client reaches each server */
  url(database: string, ports?: readonly number[]): string;
};

export function aloneServer(server: PostgresServer): Servers {
  const url = (database: string, [port] = [server.port]): string =>
    `postgres://svc@127.0.0.1:${port}/${database}`;
  return { both: [server], primary: server, url };
}

export type FleetParts = {
  readonly servers: Servers;
  readonly instances: number;
  readonly random: () => number;
  /** The configuration of all of them, without `storage`. */
  readonly document: object;
  /** Whether it has a webhook, for which each instance listens at its own address. */
  readonly hasWebhook: boolean;
  /** The environment of svc. */
  readonly env: Readonly<Record<string, string>>;
};

export class Fleet implements AsyncDisposable {
  readonly instances: readonly Instance[];
  readonly rows: Rows;
  #beforeEnd = '';
  readonly #own: AsyncDisposableStack;

  private constructor(
    { instances, rows }: Pick<Fleet, 'instances' | 'rows'>,
    own: AsyncDisposableStack,
  ) {
    this.instances = instances;
    this.rows = rows;
    this.#own = own;
  }

  /** Starts all, and does not wait until they listen. */
  static async start(parts: FleetParts): Promise<Fleet> {
    const { servers } = parts;
    await using own = new AsyncDisposableStack();
    const database = new URL(await servers.primary.newDatabase()).pathname.slice(1);
    const rows = new Rows(() => servers.url(database));
    const { path: folder } = own.use(await scratch());
    const document = { ...parts.document, storage: { url_env: 'LETTERS_URL' } };
    const file = await writeConfig(folder, document);
    const instances: Instance[] = [];
    for (let index = 0; index < parts.instances; index++) {
      const place = { ...parts, name: `svc ${index + 1}`, database, file };
      instances.push(own.use(await makeInstance(place, own)));
    }
    for (const instance of instances) instance.begin();
    return new Fleet({ instances, rows }, own.move());
  }

  /** Ends without a cause, and wrong answers. */
  get faults(): readonly string[] {
    return this.instances.flatMap(({ faults }) => faults);
  }

  get atWork(): readonly Instance[] {
    return this.instances.filter(({ isAtWork }) => isAtWork);
  }

  async untilUp(): Promise<void> {
    for (const instance of this.instances) await instance.untilUp();
  }

  /**
   * Resolves when one is at work and no message runs alone: svc gives such a message up after two
   * ends, as is promised.
   */
  async untilMayDie(): Promise<void> {
    await until('one is at work', () => this.atWork.length > 0 || this.faults.length > 0);
    await until('an answer to what ran alone', async () => !(await this.rows.ranAlone()));
  }

  /** Stops all as asked, and asserts that they end without a fault. */
  async end(): Promise<void> {
    // A svc that stops releases everything, and the others take it.
    this.#beforeEnd = await this.rows.told();
    for (const one of this.instances) {
      await one.untilUp();
      assert.equal(await one.end(), 0, one.log());
    }
    assert.deepEqual(this.faults, []);
  }

  /** The rows now and before the clean end, for the report of a failure. */
  async told(): Promise<string> {
    const rows = await this.rows.told().catch(String);
    return `there is\n${rows}\nbefore the end there was\n${this.#beforeEnd}`;
  }

  /** The last log lines of each, for the report of a failure. */
  logs(): string {
    return this.instances.map((one) => one.log()).join('\n');
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#own.disposeAsync();
  }
}

type Place = Pick<FleetParts, 'servers' | 'hasWebhook' | 'random' | 'env'> & {
  readonly name: string;
  readonly database: string;
  readonly file: string;
};

async function makeInstance(
  { name, database, file, servers, hasWebhook, random, env }: Place,
  own: AsyncDisposableStack,
): Promise<Instance> {
  const ways = [];
  for (const server of servers.both) ways.push(own.use(await Way.to(server.url())));
  const url = servers.url(
    database,
    ways.map((way) => way.port),
  );
  const [port, adminPort] = [await freePort(), await freePort()];
  const webhook = hasWebhook ? ['--webhook-bind', `127.0.0.1:${port}`] : [];
  const admin = ['--admin-addr', `127.0.0.1:${adminPort}`];
  const spawn = (aheadMs: number): Program =>
    startProgram(['serve', '--config', file, ...webhook, ...admin], {
      ...env,
      LETTERS_URL: url,
      NODE_OPTIONS: `--import=${import.meta.resolve('./skewed-clock.ts')}?ms=${aheadMs}`,
    });
  const drawAheadMs = (): number => Math.round((2 * random() - 1) * skewMsMax);
  return new Instance({ name, port, adminPort, ways, spawn, drawAheadMs });
}
