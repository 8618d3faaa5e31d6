/**
 * One application per user: the process that listens on the socket. A second start sends `show` to
 * it.
 *
 * A start tries to listen first. If the address is taken and nobody answers, a killed shell left
 * the socket behind. The start takes a lock, checks again that nobody answers, and removes the
 * socket. So no start removes the socket of another one that came at the same time.
 */
import { lstat, rm } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { makeFolder } from '../../../src/lib/make-folder.ts';
import type { FromStart, ToStart, FromCore, FromWindow, ToCore, ToWindow } from '../desktop.ts';
import type { Places } from '../places.ts';
import { openSocket, openConnection, type Connection, type ConnectionHandlers } from '../lines.ts';
import type { CoreHello } from './core-supervisor.ts';

export type Instance =
  | { readonly kind: 'first'; readonly server: Server }
  /** Another process is the application, and answered. */
  | { readonly kind: 'second'; readonly answer: ToStart }
  /** The person stopped the wait. */
  | { readonly kind: 'stopped' }
  /** A sentence. */
  | { readonly kind: 'fault'; readonly message: string };

type InstancePlaces = Pick<Places, 'runtime' | 'socket'>;

const isPipe = process.platform === 'win32';
/**
 * How long a start tries. A draining shell answers nobody until it has ended; its core has 45 s to
 * drain.
 */
const tryMs = 60_000;
const againMs = 50;

/** @param config the file that a second start sends to the first; null: none */
export async function becomeInstance(
  where: InstancePlaces,
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
    const socket = await openSocket(where.socket);
    const taken = socket === null ? await takeOver(where, onConnection) : null;
    if (taken !== null) return { kind: 'first', server: taken };
    const answer = socket === null ? null : await ask(socket, config, late);
    if (answer !== null) return { kind: 'second', answer };
    // The other process was just about to end, or to start.
    await new Promise((resolve) => setTimeout(resolve, againMs));
  }
  if (stop.aborted) return { kind: 'stopped' };
  const message = `svc runs already, and is silent at ${where.socket}. End it, then try again.`;
  return { kind: 'fault', message };
}

function describeRefused({ socket }: InstancePlaces, code: string): string {
  return `svc cannot listen at ${socket} (${code}).`;
}

/**
 * Creates the folder, and checks that only this user can use it. Whoever can write there could pose
 * as the application.
 */
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

/** @returns the server; or the system's code if it cannot listen */
function listen(path: string, onConnection: (socket: Socket) => void): Promise<Server | string> {
  const { promise, resolve } = Promise.withResolvers<Server | string>();
  const server = createServer(onConnection);
  server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? 'UNKNOWN'));
  server.listen(path, () => resolve(server));
  return promise;
}

/** @returns null: another start holds the lock, or was faster */
async function takeOver(
  { runtime, socket: path }: InstancePlaces,
  onConnection: (socket: Socket) => void,
): Promise<Server | null> {
  using lock = isPipe ? null : await lockOf(join(runtime, 'desktop.lock'));
  if (lock === null) return null;
  const socket = await openSocket(path);
  socket?.destroy();
  if (socket !== null) return null;
  await rm(path, { force: true });
  const server = await listen(path, onConnection);
  return typeof server === 'string' ? null : server;
}

/**
 * Takes a lock by means of SQLite: it is the only lock in Node that goes away with its process,
 * however that ends.
 * @returns null: another process has the lock
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

/** @returns null: the other process closed the connection, or gave no answer in time */
async function ask(
  socket: Socket,
  config: string | null,
  late: AbortSignal,
): Promise<ToStart | null> {
  const { promise, resolve } = Promise.withResolvers<ToStart | null>();
  const connection = openConnection<ToStart, FromStart>(socket, {
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

// The first line of a connection names the client; that client's handler gets all lines after it.

type WindowHello = Extract<FromWindow, { readonly kind: 'window' }>;

export type ClientHandlers = {
  core(hello: CoreHello, connection: Connection<ToCore>): ConnectionHandlers<FromCore>;
  window(hello: WindowHello, connection: Connection<ToWindow>): ConnectionHandlers<FromWindow>;
  /**
   * Handles a second start. null: it gets no answer, and finds out by itself when this shell has
   * ended.
   */
  start(config: string | null): Promise<ToStart | null>;
};

type Received = FromCore | FromWindow | FromStart;
type Sent = ToCore | ToWindow | ToStart;

/** A connection without a first line is closed after this time. */
const helloMs = 5_000;

export function receive(socket: Socket, handlers: ClientHandlers): void {
  let heard: ConnectionHandlers<Received> | null = null;
  const timer = setTimeout(() => socket.destroy(), helloMs);
  socket.once('close', () => clearTimeout(timer));
  const connection: Connection<Sent> = openConnection<Received, Sent>(socket, {
    onMessage: (message) => {
      if (heard !== null) return heard.onMessage(message);
      clearTimeout(timer);
      heard = admit(message, connection, handlers);
      if (heard === null) connection[Symbol.dispose]();
    },
    onClose: () => heard?.onClose(),
  });
}

/** @returns null: the first line is of no known kind */
function admit(
  first: Received,
  connection: Connection<Sent>,
  handlers: ClientHandlers,
): ConnectionHandlers<Received> | null {
  // Each client sends only its own kind of message: it is svc itself, run by this user.
  if (first.kind === 'core')
    return handlers.core(first, connection) as ConnectionHandlers<Received>;
  if (first.kind === 'window')
    return handlers.window(first, connection) as ConnectionHandlers<Received>;
  if (first.kind !== 'show') return null;
  void answerStart(first.config, connection, handlers);
  return { onMessage: () => {}, onClose: () => {} };
}

async function answerStart(
  config: string | null,
  connection: Connection<ToStart>,
  handlers: ClientHandlers,
): Promise<void> {
  const answer = await handlers.start(config);
  if (answer === null) return;
  connection.send(answer);
  await connection.end();
}
