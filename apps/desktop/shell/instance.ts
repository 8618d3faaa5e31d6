/**
 * One application a user: who listens on the socket is it. A second start says `show` there.
 *
 * It listens first. Where the address is taken and nobody answers, a killed shell left the socket
 * behind. It is removed under a lock, by one that has looked under the lock: so nobody removes the
 * socket of a start that came at the same time.
 */
import { lstat, rm } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { makeFolder } from '../../../src/lib/make-folder.ts';
import type { FromStart, ToStart, FromCore, FromWindow, ToCore, ToWindow } from '../desktop.ts';
import type { Places } from '../places.ts';
import { call, speak, type Connection, type Heard } from '../lines.ts';
import type { CoreHello } from './core-keeper.ts';

export type Instance =
  | { readonly kind: 'first'; readonly server: Server }
  /** Another process is it, and answered. */
  | { readonly kind: 'second'; readonly answer: ToStart }
  /** The person did not want to wait. */
  | { readonly kind: 'stopped' }
  /** A sentence. */
  | { readonly kind: 'fault'; readonly message: string };

type Where = Pick<Places, 'runtime' | 'socket'>;

const isPipe = process.platform === 'win32';
/** A shell that drains answers when it has ended; its service has 45 s for that. */
const tryMs = 60_000;
const againMs = 50;

/** @param config what a second start names; null: nothing */
export async function becomeInstance(
  where: Where,
  config: string | null,
  onConnection: (socket: Socket) => void,
  stop: AbortSignal,
  waitMs = tryMs,
): Promise<Instance> {
  const fault = isPipe ? null : await prepareFolder(where.runtime);
  if (fault !== null) return { kind: 'fault', message: fault };
  const late = AbortSignal.any([stop, AbortSignal.timeout(waitMs)]);
  while (!late.aborted) {
    const server = await listen(where.socket, onConnection);
    if (typeof server !== 'string') return { kind: 'first', server };
    if (server !== 'EADDRINUSE') return { kind: 'fault', message: describeRefused(where, server) };
    const socket = await call(where.socket);
    const taken = socket === null ? await takeOver(where, onConnection) : null;
    if (taken !== null) return { kind: 'first', server: taken };
    const answer = socket === null ? null : await ask(socket, config, late);
    if (answer !== null) return { kind: 'second', answer };
    // It was just about to end, or to begin.
    await new Promise((resolve) => setTimeout(resolve, againMs));
  }
  if (stop.aborted) return { kind: 'stopped' };
  const message = `svc runs already, and is silent at ${where.socket}. End it, then try again.`;
  return { kind: 'fault', message };
}

function describeRefused({ socket }: Where, code: string): string {
  return `svc cannot listen at ${socket} (${code}).`;
}

/** Whoever can write there could stand in for the application: it is this user's own folder. */
async function prepareFolder(folder: string): Promise<string | null> {
  try {
    await makeFolder(folder, 0o700);
    const facts = await lstat(folder);
    const isOwn = facts.isDirectory() && facts.uid === process.getuid?.();
    if (isOwn && (facts.mode & 0o077) === 0) return null;
    return `${folder} is not a folder of this user alone; remove it, or set XDG_RUNTIME_DIR.`;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return `${folder} cannot be made (${code}); let XDG_RUNTIME_DIR name a folder of this user.`;
  }
}

/** @returns the system's code where it may not */
function listen(path: string, onConnection: (socket: Socket) => void): Promise<Server | string> {
  const { promise, resolve } = Promise.withResolvers<Server | string>();
  const server = createServer(onConnection);
  server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? 'UNKNOWN'));
  server.listen(path, () => resolve(server));
  return promise;
}

/** @returns null: somebody else is at it, or was faster */
async function takeOver(
  { runtime, socket: path }: Where,
  onConnection: (socket: Socket) => void,
): Promise<Server | null> {
  using lock = isPipe ? null : await lockOf(join(runtime, 'desktop.lock'));
  if (lock === null) return null;
  const socket = await call(path);
  socket?.destroy();
  if (socket !== null) return null;
  await rm(path, { force: true });
  const server = await listen(path, onConnection);
  return typeof server === 'string' ? null : server;
}

/**
 * SQLite has the one lock that Node knows to go with its process, however that ends.
 * @returns null: another has it
 */
async function lockOf(file: string): Promise<Disposable | null> {
  const { DatabaseSync } = await import('node:sqlite');
  try {
    const database = new DatabaseSync(file, { timeout: 0 });
    try {
      database.exec('BEGIN EXCLUSIVE');
      return database;
    } catch {
      database.close();
      return null;
    }
  } catch {
    return null;
  }
}

/** @returns null: it went away without an answer, or gave none in time */
async function ask(
  socket: Socket,
  config: string | null,
  late: AbortSignal,
): Promise<ToStart | null> {
  const { promise, resolve } = Promise.withResolvers<ToStart | null>();
  const connection = speak<ToStart, FromStart>(socket, {
    onMessage: (answer) => {
      resolve(answer);
      connection[Symbol.dispose]();
    },
    onClose: () => resolve(null),
  });
  const leave = (): void => connection[Symbol.dispose]();
  late.addEventListener('abort', leave);
  connection.send({ kind: 'show', config });
  const answer = await promise;
  late.removeEventListener('abort', leave);
  return answer;
}

/** Who connected to the shell's socket is told by the first line; from there on it is theirs. */
type WindowHello = Extract<FromWindow, { readonly kind: 'window' }>;

export type Guests = {
  core(hello: CoreHello, connection: Connection<ToCore>): Heard<FromCore>;
  window(hello: WindowHello, connection: Connection<ToWindow>): Heard<FromWindow>;
  /** A second start; null: it is told nothing, and finds out by itself when this shell has gone. */
  start(config: string | null): Promise<ToStart | null>;
};

type Received = FromCore | FromWindow | FromStart;
type Sent = ToCore | ToWindow | ToStart;

/** Whoever connects and says nothing is let go. */
const helloMs = 5_000;

export function receive(socket: Socket, guests: Guests): void {
  let heard: Heard<Received> | null = null;
  const timer = setTimeout(() => socket.destroy(), helloMs);
  socket.once('close', () => clearTimeout(timer));
  const connection: Connection<Sent> = speak<Received, Sent>(socket, {
    onMessage: (message) => {
      if (heard !== null) return heard.onMessage(message);
      clearTimeout(timer);
      heard = admit(message, connection, guests);
      if (heard === null) connection[Symbol.dispose]();
    },
    onClose: () => heard?.onClose(),
  });
}

/** @returns null: it is nobody who has anything to say here */
function admit(
  first: Received,
  connection: Connection<Sent>,
  guests: Guests,
): Heard<Received> | null {
  // What one of them sends is of its own kind: it is svc itself, of this user.
  if (first.kind === 'core') return guests.core(first, connection) as Heard<Received>;
  if (first.kind === 'window') return guests.window(first, connection) as Heard<Received>;
  if (first.kind !== 'show') return null;
  void answerStart(first.config, connection, guests);
  return { onMessage: () => {}, onClose: () => {} };
}

async function answerStart(
  config: string | null,
  connection: Connection<ToStart>,
  guests: Guests,
): Promise<void> {
  const answer = await guests.start(config);
  if (answer === null) return;
  connection.send(answer);
  await connection.end();
}
