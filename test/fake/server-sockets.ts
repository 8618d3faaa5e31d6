/** The servers' ends of connections within this process, which show how much was read. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';

const accepted = 'net.server.socket';

export class ServerSockets implements Disposable {
  readonly #sockets = new Map<string, Socket>();
  readonly #heard = (message: unknown): void => {
    const { socket } = message as { socket: Socket };
    const key = `${socket.localPort} ${socket.remotePort}`;
    this.#sockets.set(key, socket);
    socket.once('close', () => {
      if (this.#sockets.get(key) === socket) this.#sockets.delete(key);
    });
  };

  constructor() {
    subscribe(accepted, this.#heard);
  }

  [Symbol.dispose](): void {
    unsubscribe(accepted, this.#heard);
  }

  /** @param client connected */
  async of(client: Socket): Promise<Socket> {
    for (;;) {
      const socket = this.#sockets.get(`${client.remotePort} ${client.localPort}`);
      if (socket !== undefined) return socket;
      await setImmediate();
    }
  }
}

/** Resolves when the server has read so many bytes in all, or reads no more as things are. */
export async function untilRead(socket: Socket, bytes: number): Promise<void> {
  while (socket.bytesRead < bytes && !socket.destroyed && !socket.isPaused()) await setImmediate();
}
