/**
 * Litestream copies the database of a running svc to a folder. svc and its database are lost; the
 * copy brings back what was in it. The configuration is that of docs/recipes/litestream.md.
 */
import { mkdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { lastOf } from '../agents/stage.ts';
import { quoted } from '../documents/blocks.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { startReceiver, type Received, type Receiver } from '../fake/receiver.ts';
import {
  freePort,
  post,
  serve,
  startProgram,
  webhookConfig,
  writeConfig,
  type Program,
} from '../support/program.ts';
import type { Run } from '../support/run-svc.ts';
import { until } from '../support/waiting.ts';
import { operatorToken, type Counterpart, type World } from './world.ts';
import { goPrograms } from './versions.ts';

const page = 'docs/recipes/litestream.md';

export const litestream: Counterpart = {
  name: 'litestream',
  of: Object.values(goPrograms)
    .map((source) => source.replace(/^.*\//, ''))
    .join(' and '),
  async run(world) {
    const [newer, older] = [await world.go('litestream'), await world.go('litestreamOlder')];
    await tryVersion(world, '0.5', newer, (text) => text);
    // The field had another name, and was a list. There were no settings for snapshots.
    const former = (text: string): string =>
      text
        .replace(
          'replica:\n      type: file\n      path:',
          'replicas:\n      - type: file\n        path:',
        )
        .replace(/^snapshot:\n(?: .*\n)+/m, '');
    await tryVersion(world, '0.3', older, former);
  },
};

async function tryVersion(
  world: World,
  version: string,
  program: string,
  change: (text: string) => string,
): Promise<void> {
  const release = Promise.withResolvers<void>();
  const model = world.use(
    await startFakeOllama((call) => {
      const text = lastOf(call).content;
      return { answer: `to ${text}`, ...(text === 'slow' && { after: release.promise }) };
    }),
  );
  const receiver = world.use(await startReceiver());
  const place = await Place.make(world, { program, change, modelUrl: model.url, receiver });
  const equal = (what: string, seen: unknown, expected: unknown): void =>
    world.equal(`${version}: ${what}`, seen, expected);

  await place.start();
  place.replicate();
  for (let at = 0; at < 40; at++) await place.say(`person-${at % 4}`, `text ${at}`);
  await receiver.waitFor(40);
  const backup = startProgram(['backup', join(place.folder, 'copy.db'), '--config', place.file]);
  equal('svc backup ends well beside it', await backup.ended, 0);
  await place.stop('SIGTERM');
  equal('svc stops in order', await place.ended(), 0);
  await place.start();
  const deletion = await place.ask('DELETE', 'senders/webhook/person-3');
  // Litestream may be between two reads.
  const outcome = `${deletion.status} ${deletion.code}`.trim();
  world.check(
    `${version}: a deletion ends`,
    /^(?:200|503 not_overwritten)$/.test(outcome),
    outcome,
  );

  // A reply that waits, and a message that has no answer yet: both are in the copy.
  receiver.script.push({ status: 503, headers: { 'retry-after': '3600' } });
  await place.say('waiting', 'waiting');
  const [waiting] = (await receiver.waitFor(41)).slice(40);
  await place.say('slow', 'slow');
  await place.replicated(32);
  await place.stopReplicating();
  const replyId = String(waiting!.body['message_id']);
  await place.ask('POST', `deliveries/${replyId}/try`);
  release.resolve();
  const afterCopy = (await receiver.waitFor(43)).slice(41);
  const firstAnswer = afterCopy.find(({ body }) => body['conversation_id'] === 'slow');
  const lost = await place.say('lost', 'lost');
  await receiver.waitFor(44);

  await place.stop('SIGKILL');
  await place.loseDatabase();
  equal('the restore', await place.restore(place.database), 0);
  const { mode } = await stat(place.database);
  equal('it is for this user alone', (mode & 0o777).toString(8), '600');
  equal('it is sound', ask(place.database, 'PRAGMA integrity_check'), ['ok']);
  equal('its messages', ask(place.database, 'SELECT count(*) FROM inbox'), [32]);

  await place.start();
  const [again] = (await receiver.waitFor(45)).slice(44);
  const asked = (one: Received | undefined): unknown => one?.body['in_reply_to'];
  equal('the message without an answer is answered', asked(again), asked(firstAnswer));
  await place.ask('POST', `deliveries/${replyId}/try`);
  const [repeat] = (await receiver.waitFor(46)).slice(45);
  const ids = [repeat?.body['message_id'], repeat?.headers['webhook-id']];
  equal('the reply that waited goes out with its id', ids, [replyId, replyId]);
  const trace = await place.ask('GET', `messages/${lost.id}`);
  equal('what came after the copy is gone', trace.status, 404);
  const resent = await place.say('lost', 'lost');
  equal('its sender may send it again', resent.duplicate, undefined);
  await receiver.waitFor(47);

  place.replicate();
  for (let at = 0; at < 10; at++) await place.say(`later-${at}`, 'later');
  await place.replicated(43);
  await place.stopReplicating();
  equal(
    'without it a deletion ends',
    (await place.ask('DELETE', 'senders/webhook/later-0')).status,
    200,
  );
  await place.stop('SIGTERM');
  await place.ended();
}

/** The values of the first column. */
function ask(file: string, question: string): readonly unknown[] {
  using db = new DatabaseSync(file, { readOnly: true });
  return db
    .prepare(question)
    .all()
    .map((row) => Object.values(row)[0]);
}

type Said = { readonly id: string; readonly duplicate: unknown };

/** A svc, its database, and Litestream with its copy, in one folder. */
class Place {
  readonly folder: string;
  readonly file: string;
  readonly #world: World;
  readonly #program: string;
  readonly #ports: { readonly port: number; readonly adminPort: number };
  #svc: Program | null = null;
  #replicating: Run | null = null;

  private constructor(
    world: World,
    program: string,
    folder: string,
    file: string,
    ports: { readonly port: number; readonly adminPort: number },
  ) {
    this.#world = world;
    this.#program = program;
    this.folder = folder;
    this.file = file;
    this.#ports = ports;
  }

  static async make(
    world: World,
    given: {
      readonly program: string;
      readonly change: (text: string) => string;
      readonly modelUrl: string;
      readonly receiver: Receiver;
    },
  ): Promise<Place> {
    const folder = await world.folder();
    const ports = { port: await freePort(), adminPort: await freePort() };
    const where = { ...ports, modelUrl: given.modelUrl, receiverUrl: given.receiver.url };
    const storage = { path: 'svc.db' };
    const config = { ...webhookConfig(where), storage, admin: { token_env: 'ADMIN_TOKEN' } };
    const file = await writeConfig(folder, config);
    const text = given.change(quoted(page, 'yaml', 'type: file'));
    const placed = text
      .replace('/var/lib/svc', folder)
      .replace('/mnt/backup/svc', `${folder}/copy`);
    await writeFile(join(folder, 'litestream.yml'), placed);
    await mkdir(join(folder, 'copy'));
    return new Place(world, given.program, folder, file, ports);
  }

  get database(): string {
    return join(this.folder, 'svc.db');
  }

  async start(): Promise<void> {
    const program = await serve(this.file, this.#ports.port, { ADMIN_TOKEN: operatorToken });
    this.#svc = this.#world.use(program);
  }

  async stop(signal: NodeJS.Signals): Promise<void> {
    this.#svc!.child.kill(signal);
    await this.#svc!.ended;
  }

  ended(): Promise<number | string> {
    return this.#svc!.ended;
  }

  replicate(): void {
    this.#replicating = this.#world.start(this.#program, ['replicate', ...this.#config]);
  }

  /** Ends it with no chance to copy what is left. */
  async stopReplicating(): Promise<void> {
    this.#replicating!.child.kill('SIGKILL');
    await this.#replicating!.ended;
  }

  get #config(): readonly string[] {
    return ['-config', join(this.folder, 'litestream.yml')];
  }

  /** @returns the exit code */
  async restore(target: string): Promise<number | null> {
    const words = ['umask 077; exec "$0" "$@"', this.#program, 'restore', ...this.#config];
    const args = ['-c', ...words, '-o', target, this.database];
    return (await this.#world.outcome('sh', args)).code;
  }

  /** Waits until the copy has so many messages. */
  async replicated(messages: number): Promise<void> {
    const target = join(this.folder, 'look.db');
    await until(`the copy has ${messages} messages`, async () => {
      if ((await this.restore(target)) !== 0) return false;
      const [count] = ask(target, 'SELECT count(*) FROM inbox');
      for (const end of ['', '-wal', '-shm']) await rm(`${target}${end}`, { force: true });
      return count === messages;
    });
  }

  /** Removes the database, and what Litestream keeps beside it. */
  async loseDatabase(): Promise<void> {
    for (const end of ['', '-wal', '-shm']) await rm(`${this.database}${end}`, { force: true });
    await rm(join(this.folder, '.svc.db-litestream'), { recursive: true, force: true });
  }

  async say(sender: string, text: string): Promise<Said> {
    const url = `http://127.0.0.1:${this.#ports.port}/webhook`;
    const headers = { 'webhook-id': `${sender} ${text}` };
    const { status, body } = await post(url, { sender_id: sender, text }, headers);
    if (status !== 200) throw new Error(`the webhook answers ${status}: ${JSON.stringify(body)}`);
    return { id: String(body['message_id']), duplicate: body['duplicate'] };
  }

  async ask(method: string, path: string) {
    const url = `http://127.0.0.1:${this.#ports.adminPort}/api/v1/${path}`;
    const headers = { authorization: `Bearer ${operatorToken}` };
    const response = await fetch(url, { method, headers });
    const { code = '' } = (await response.json()) as { readonly code?: string };
    return { status: response.status, code };
  }
}
