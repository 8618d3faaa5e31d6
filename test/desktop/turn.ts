/** The first run takes the addresses that svc has by default: one suite of tests at a time. */
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Of none of the services under test; whoever listens there has the turn. */
const turnPort = 10_099;
const againMs = 50;

/** Waits until no other process of this machine has it; it goes with the scope. */
export async function takeTurn(): Promise<AsyncDisposable> {
  for (;;) {
    const server = createServer((socket) => socket.destroy());
    const listens = once(server, 'listening').then(() => true);
    server.listen(turnPort, '127.0.0.1');
    if (await listens.catch(() => false)) {
      const closed = once(server, 'close');
      const close = async (): Promise<void> => {
        server.close();
        await closed;
      };
      return { [Symbol.asyncDispose]: close };
    }
    await new Promise((resolve) => setTimeout(resolve, againMs));
  }
}
