/** Several svc on one database behind a balancer; each may be replaced by another release. */
import assert from 'node:assert/strict';
import type { Client } from 'pg';
import { connect } from '../../../src/ledger/postgres/server/connect.ts';
import { schemaVersion } from '../../../src/ledger/postgres/server/migrations.ts';
import type { FakeModel } from '../../fake/model-server.ts';
import { startFakeOllama } from '../../fake/ollama.ts';
import { newDatabase } from '../../fake/postgres.ts';
import { startReceiver, type Receiver } from '../../fake/receiver.ts';
import {
  freePort,
  scratch,
  secret,
  webhookConfig,
  writeConfig,
  type Program,
} from '../../support/program.ts';
import { assertKept, audit, type Audit } from '../audit.ts';
import { Crowd, type Tried } from '../crowd.ts';
import { History } from '../history.ts';
import { someMoment } from '../moments.ts';
import { ask } from '../outside.ts';
import { untilAnswered } from '../world.ts';
import { Balancer } from './balancer.ts';
import { Instance } from './instance.ts';
import { startRelease, type Release } from './releases.ts';
import { Rows } from './rows.ts';
import { until } from '../../support/waiting.ts';

const modelMs = 30;
const pauseMs = 60;

/** An instance, and the release of its next start. */
type Place = { readonly instance: Instance; release: Release };

type Parts = Pick<Rollout, 'places'> & {
  readonly crowd: Crowd;
  readonly model: FakeModel;
  readonly receiver: Receiver;
  readonly balancer: Balancer;
  readonly client: Client;
  readonly rows: Rows;
  readonly history: History;
  readonly random: () => number;
};

export class Rollout implements AsyncDisposable {
  readonly places: readonly Place[];
  /** By the way of their end. */
  readonly replaced = { terminate: 0, kill: 0 };
  /** The longest time of a request until its answer. */
  slowestMs = 0;
  #unanswered = 0;
  /** The highest schema of any started release. */
  #schema = 0;
  readonly #parts: Parts;
  readonly #own: AsyncDisposableStack;

  private constructor(parts: Parts, own: AsyncDisposableStack) {
    this.places = parts.places;
    this.#parts = parts;
    this.#own = own;
    parts.crowd.onTried = ({ ms, status }: Tried) => {
      this.slowestMs = Math.max(this.slowestMs, Math.round(ms));
      if (status === null) this.#unanswered++;
    };
  }

  /** Starts all with that release, and waits until they listen. */
  static async open(random: () => number, count: number, release: Release): Promise<Rollout> {
    await using own = new AsyncDisposableStack();
    const url = await newDatabase();
    const client = await connect(url);
    own.defer(() => client.end());
    const receiver = own.use(await startReceiver());
    const history = new History();
    const model = own.use(
      await startFakeOllama((call) => history.answer(call, random() * modelMs)),
    );
    const around = { url, modelUrl: model.url, receiverUrl: receiver.url };
    const places: Place[] = [];
    for (let at = 1; at <= count; at++) {
      const place = await makePlace(`svc ${at}`, around, release, own);
      place.instance.begin();
      places.push(place);
    }
    const instances = places.map(({ instance }) => instance);
    const balancer = own.use(await Balancer.before(instances));
    for (const instance of instances) await instance.untilUp();
    const crowd = new Crowd(balancer.url, random, pauseMs);
    own.defer(() => crowd.leave());
    const rows = new Rows(() => url);
    const parts = { places, crowd, model, receiver, balancer, client, rows, history, random };
    return new Rollout(parts, own.move());
  }

  begin(speakers: number): void {
    this.#parts.crowd.begin(speakers);
  }

  /** Ends an instance at a random moment, and waits until it takes messages with that release. */
  async replace(place: Place, release: Release, how: 'terminate' | 'kill'): Promise<void> {
    const { random, client } = this.#parts;
    const { instance } = place;
    await someMoment(this.#parts, instance.life.program, random);
    place.release = release;
    await instance[how]();
    this.replaced[how]++;
    await instance.untilUp();
    assert.deepEqual(this.faults, []);
    const before = this.#takenBy(place);
    await until(`${instance.name} takes messages`, () => this.#takenBy(place) > before);
    this.#schema = Math.max(this.#schema, release.schema);
    assert.equal(await schemaVersion(client), this.#schema);
    for (const one of this.places) await this.#assertSees(one);
    await this.#sayMore();
  }

  get faults(): readonly string[] {
    return this.places.flatMap(({ instance }) => instance.faults);
  }

  /** The last log lines of each, for the report of a failure. */
  logs(): string {
    return this.places.map(({ instance }) => instance.log()).join('\n');
  }

  /**
   * People stop, all accepted messages are answered, every svc stops as asked. Asserts that none is
   * lost, refused, unmarked, out of order, run twice, dead or left over.
   */
  async conclude(): Promise<Audit> {
    const { crowd, receiver, rows, history, balancer } = this.#parts;
    await crowd.end();
    await untilAnswered(this.#parts);
    for (const { instance } of this.places) assert.equal(await instance.end(), 0, instance.log());
    assert.deepEqual(this.faults, []);
    const figures = audit(crowd, receiver.received);
    const refused = crowd.refusals.values().reduce((sum, count) => sum + count, this.#unanswered);
    assertKept({
      ...figures,
      ...(await rows.left()),
      refused,
      'other ids for a resend': crowd.secondIds,
      'wrong histories': history.wrong,
    });
    const others = [...balancer.statuses.keys()].filter((status) => ![200, 503].includes(status));
    assert.deepEqual(others, [], 'nothing but 200 and 503 is answered');
    return figures;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#own.disposeAsync();
  }

  #takenBy({ instance }: Place): number {
    const taken = this.#parts.balancer.takenBy.values();
    return taken.filter((one) => one === instance).toArray().length;
  }

  /** Asserts that this svc sees all living ones, each with its release. */
  async #assertSees({ instance }: Place): Promise<void> {
    const wanted = this.places.map(({ release }) => release.version).toSorted();
    let seen: readonly string[] = [];
    const sees = async (): Promise<boolean> => {
      const answer = await ask({ port: instance.adminPort, path: '/api/v1/status' });
      const status = JSON.parse(answer?.body ?? '{}') as { instances?: { version: string }[] };
      seen = (status.instances ?? []).map(({ version }) => version).toSorted();
      return seen.join() === wanted.join();
    };
    const what = (): string => `${instance.name} sees ${wanted.join()}, and not ${seen.join()}`;
    await until('it sees all', sees).catch((error: unknown) => {
      throw new Error(what(), { cause: error });
    });
  }

  /** Writes broadcasts of a release after both, and one that nobody can read. */
  async #sayMore(): Promise<void> {
    const said: readonly (readonly [string, string])[] = [
      ['of a later release', '{"more":1}'],
      ['changed', '{"channel":"webhook","conversations":["nobody"],"more":1}'],
      ['changed', '{"channel":'],
    ];
    for (const row of said) {
      await this.#parts.client.query('INSERT INTO svc.board (kind, body) VALUES ($1, $2)', [
        ...row,
      ]);
    }
  }
}

type Around = { readonly url: string; readonly modelUrl: string; readonly receiverUrl: string };

/** Makes an instance, which is not started yet. */
async function makePlace(
  name: string,
  { url, ...others }: Around,
  release: Release,
  own: AsyncDisposableStack,
): Promise<Place> {
  const { path: folder } = own.use(await scratch());
  const [port, adminPort] = [await freePort(), await freePort()];
  const document = webhookConfig({ port, adminPort, ...others });
  const file = await writeConfig(folder, { ...document, storage: { url_env: 'LETTERS_URL' } });
  const [bind, admin] = [`127.0.0.1:${port}`, `127.0.0.1:${adminPort}`];
  const args = ['serve', '--config', file, '--webhook-bind', bind, '--admin-addr', admin];
  const env = { WEBHOOK_SECRET: secret, LETTERS_URL: url };
  const spawn = (): Program => startRelease(place.release, args, env);
  const instance = own.use(
    new Instance({ name, port, adminPort, ways: [], spawn, drawAheadMs: () => 0 }),
  );
  const place: Place = { instance, release };
  return place;
}
