/**
 * The smallest honest pipeline with storage: floor-stateless.ts with three commits a message, each
 * on disk before the next step. A worker makes them in groups. No memory and no recovery.
 */
import { DatabaseSync } from 'node:sqlite';
import { isMainThread, parentPort, receiveMessageOnPort, Worker } from 'node:worker_threads';
import { ask, end, type Message, post, serve, setup } from './floor-stateless.ts';

type Write = readonly [statement: number, ...values: (string | number)[]];
const tables = `
  CREATE TABLE inbox (id INTEGER PRIMARY KEY, conversation TEXT, body TEXT, state INTEGER);
  CREATE TABLE turn (conversation TEXT, id INTEGER, said TEXT, reply TEXT,
    PRIMARY KEY (conversation, id)) WITHOUT ROWID;
  CREATE TABLE outbox (id INTEGER PRIMARY KEY, conversation TEXT, body TEXT, state INTEGER);
  CREATE TABLE trace (id INTEGER PRIMARY KEY, body TEXT);`;
const statements = [
  'INSERT INTO inbox VALUES (?, ?, ?, 0)',
  'UPDATE inbox SET state = 1 WHERE id = ?',
  'INSERT INTO turn VALUES (?, ?, ?, ?)',
  'INSERT INTO outbox VALUES (?, ?, ?, 0)',
  'INSERT INTO trace VALUES (?, ?)',
  'UPDATE outbox SET state = 1 WHERE id = ?',
];
const filler = 'as long as the steps of a trace are '.repeat(8);

function writeGroups(port: NonNullable<typeof parentPort>): void {
  const database = new DatabaseSync(setup.file);
  database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; ${tables}`);
  const prepared = statements.map((text) => database.prepare(text));
  port.on('message', (first: Write[]) => {
    database.exec('BEGIN IMMEDIATE');
    let posts = 0;
    for (let writes: Write[] | undefined = first; writes !== undefined; posts++) {
      for (const [at, ...values] of writes) prepared[at]!.run(...values);
      writes = receiveMessageOnPort(port)?.message as Write[] | undefined;
    }
    database.exec('COMMIT');
    port.postMessage(posts);
  });
}

/** The writes of this tick; each has a caller that waits for the commit. */
let writes: Write[] = [];
let waiting: (() => void)[] = [];
const posted: (() => void)[][] = [];

function commit(worker: Worker, ...rows: Write[]): Promise<void> {
  if (writes.length === 0) setImmediate(send, worker);
  writes.push(...rows);
  return new Promise((resolve) => waiting.push(resolve));
}

function send(worker: Worker): void {
  worker.postMessage(writes, []);
  posted.push(waiting);
  [writes, waiting] = [[], []];
}

async function work(worker: Worker, { id, conversation, text }: Message): Promise<void> {
  const startedAt = Date.now();
  const answer = await ask(text);
  const reply = JSON.stringify({ conversation_id: conversation, text: answer });
  const trace = JSON.stringify({ id, startedAt, decidedAt: Date.now(), steps: filler });
  const outbox: Write = [3, id, conversation, reply];
  await commit(worker, [1, id], [2, conversation, id, text, answer], outbox, [4, id, trace]);
  await (await post(setup.receiver, '/reply', reply)).dump();
  await commit(worker, [5, id]);
}

if (isMainThread) {
  const worker = new Worker(new URL(import.meta.url), { argv: [process.argv[2]] });
  worker.on('message', (posts: number) => {
    for (const done of posted.splice(0, posts).flat()) done();
  });
  serve(async (message, response) => {
    await commit(worker, [0, message.id, message.conversation, JSON.stringify(message)]);
    end(response, 200, `{"status":"accepted","message_id":"${message.id}"}`);
    await work(worker, message);
  });
} else writeGroups(parentPort!);
