/**
 * Messages between the processes of the application: each is one line of JSON, in both directions.
 */
import { connect, type Socket } from 'node:net';

/** Far more than any message needs; a longer line closes the connection. */
const lineBytesMax = 262_144;

/** One end of a connection. Messages sent after it closed are lost. */
export type Connection<Sent> = Disposable & {
  send(message: Sent): void;
  /** Sends what is still buffered, closes the connection, and then resolves. */
  end(): Promise<void>;
};

export type ConnectionHandlers<Received> = {
  /** Called for each line. A line that is no JSON object with a `kind` closes the connection. */
  readonly onMessage: (message: Received) => void;
  readonly onClose: () => void;
};

/** Reads and writes messages on a socket. Both ends agree on the types; nothing checks them. */
export function openConnection<Received, Sent>(
  socket: Socket,
  { onMessage, onClose }: ConnectionHandlers<Received>,
): Connection<Sent> {
  let begun = '';
  socket.setEncoding('utf8');
  const take = (text: string): boolean => {
    begun += text;
    const lines = begun.split('\n');
    begun = lines.pop()!;
    if (begun.length > lineBytesMax) return false;
    for (const line of lines) {
      const message = parse(line);
      if (message === null) return false;
      // The other end is svc itself, run by this user.
      onMessage(message as Received);
    }
    return true;
  };
  socket.on('data', (text: string) => void (take(text) || socket.destroy()));
  socket.on('error', () => {});
  socket.once('close', onClose);
  return {
    send: (message) => void (socket.writable && socket.write(`${JSON.stringify(message)}\n`)),
    end: () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      if (socket.destroyed) resolve();
      socket.once('close', () => resolve());
      socket.end(() => socket.destroy());
      return promise;
    },
    [Symbol.dispose]: () => void socket.destroy(),
  };
}

/** @returns null: the line is no message */
function parse(line: string): object | null {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null && 'kind' in value ? value : null;
  } catch {
    return null;
  }
}

/** Opens a connection; null: nobody listens there. */
export function openSocket(path: string): Promise<Socket | null> {
  const { promise, resolve } = Promise.withResolvers<Socket | null>();
  const socket = connect(path);
  socket.once('connect', () => resolve(socket));
  socket.once('error', () => resolve(null));
  return promise;
}

export type Link<Sent> = Disposable & {
  /** Without a connection, the message is lost. */
  send(message: Sent): void;
  /** Sends what is still buffered, then resolves. It never connects again. */
  end(): Promise<void>;
};

export type LinkOptions<Received, Sent> = {
  readonly path: string;
  readonly onMessage: (message: Received) => void;
  /** Called at each connection; the link first sends the returned messages. */
  readonly onConnected: () => readonly Sent[];
  readonly onLost: () => void;
  readonly retryMs?: number;
};

/**
 * Connects, and connects again whenever the connection is lost, until `end` or disposal. It does
 * not keep the process alive.
 */
export function keepConnected<Received, Sent>(options: LinkOptions<Received, Sent>): Link<Sent> {
  const { path, onMessage, onConnected, onLost, retryMs = 250 } = options;
  let connection: Connection<Sent> | null = null;
  let timer: NodeJS.Timeout | null = null;
  let isOver = false;
  const again = (): void => {
    if (!isOver) timer = setTimeout(() => void open(), retryMs).unref();
  };
  const open = async (): Promise<void> => {
    const socket = await openSocket(path);
    if (isOver || socket === null) return socket === null ? again() : void socket.destroy();
    const onClose = (): void => {
      connection = null;
      if (!isOver) onLost();
      again();
    };
    socket.unref();
    connection = openConnection<Received, Sent>(socket, { onMessage, onClose });
    for (const message of onConnected()) connection.send(message);
  };
  const over = (): void => {
    isOver = true;
    if (timer !== null) clearTimeout(timer);
  };
  void open();
  return {
    send: (message) => connection?.send(message),
    end: async () => {
      over();
      await connection?.end();
    },
    [Symbol.dispose]: () => {
      over();
      connection?.[Symbol.dispose]();
    },
  };
}
