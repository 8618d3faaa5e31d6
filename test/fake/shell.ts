/** The shell's end of its socket, to which a core connects: the messages of both sides. */
import { once } from 'node:events';
import { mkdtempDisposableSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CoreOrders, FromCore, ToCore } from '../../apps/desktop/desktop.ts';
import { openConnection, type Connection } from '../../apps/desktop/lines.ts';

export const shellPage = 'http://127.0.0.1:9/app/0123456789abcdef/';

type Kind = FromCore['kind'];
type Said<K extends Kind> = Extract<FromCore, { readonly kind: K }>;

export type FakeShell = AsyncDisposable & {
  /** For the core's environment. */
  readonly orders: CoreOrders;
  readonly env: { readonly SVC_DESKTOP: string };
  /** All messages of cores, in order. */
  readonly heard: readonly FromCore[];
  /** The next message of this kind that nobody has taken yet, even if it came before. */
  next<K extends Kind>(kind: K): Promise<Said<K>>;
  say(message: ToCore): void;
  /** The address of a page with a code; the core must run. */
  offer(): Promise<URL>;
  grant(): Promise<string | null>;
  /** Simulates a kill of the shell: its connections end, and nobody listens. */
  gone(): Promise<void>;
  /** Starts another shell at the same socket. */
  back(): Promise<void>;
};

export async function startFakeShell(
  options: { readonly port?: number; readonly welcomes?: boolean } = {},
): Promise<FakeShell> {
  const { port = 0, welcomes = true } = options;
  const folder = mkdtempDisposableSync(join(tmpdir(), 'svc-shell-'));
  const socket = join(folder.path, 'desktop.sock');
  const orders = { socket, port, logFolder: join(folder.path, 'log'), lends: false };
  const ear = new Ear();
  const connections = new Set<Connection<ToCore>>();
  let questions = 0;
  const listen = async (): Promise<Server> => {
    const server = createServer((accepted) => {
      const connection = openConnection<FromCore, ToCore>(accepted, {
        onMessage: (message) => {
          if (message.kind === 'core' && welcomes) {
            connection.send({ kind: 'welcome', page: shellPage });
          }
          ear.hear(message);
        },
        onClose: () => connections.delete(connection),
      });
      connections.add(connection);
    }).listen(socket);
    await once(server, 'listening');
    return server;
  };
  let server: Server | null = await listen();
  const say = (message: ToCore): void => {
    for (const connection of connections) connection.send(message);
  };
  const gone = async (): Promise<void> => {
    const before = server;
    server = null;
    if (before === null) return;
    const closed = once(before, 'close');
    before.close();
    for (const connection of connections) connection[Symbol.dispose]();
    await closed;
  };
  return {
    orders,
    env: { SVC_DESKTOP: JSON.stringify(orders) },
    heard: ear.all,
    next: (kind) => ear.next(kind),
    say,
    async offer() {
      say({ kind: 'offer', question: ++questions });
      return new URL((await ear.next('offered')).url);
    },
    async grant() {
      say({ kind: 'grant', question: ++questions });
      return (await ear.next('granted')).token;
    },
    gone,
    back: async () => {
      server ??= await listen();
    },
    async [Symbol.asyncDispose]() {
      await gone();
      folder.remove();
    },
  };
}

class Ear {
  readonly all: FromCore[] = [];
  readonly #untaken: FromCore[] = [];
  readonly #waiting: { readonly kind: Kind; readonly take: (message: FromCore) => void }[] = [];

  hear(message: FromCore): void {
    this.all.push(message);
    const index = this.#waiting.findIndex(({ kind }) => kind === message.kind);
    if (index < 0) this.#untaken.push(message);
    else this.#waiting.splice(index, 1)[0]!.take(message);
  }

  next<K extends Kind>(kind: K): Promise<Said<K>> {
    const { promise, resolve } = Promise.withResolvers<FromCore>();
    const index = this.#untaken.findIndex((one) => one.kind === kind);
    if (index < 0) this.#waiting.push({ kind, take: resolve });
    else resolve(this.#untaken.splice(index, 1)[0]!);
    return promise as Promise<Said<K>>;
  }
}
