/** Keep-alive connections, as many as needed, with one request at a time on each. */
import { connect } from 'node:net';
import { frames } from './sockets.ts';

export type Request = { readonly at: number; readonly bytes: string };

export type LineEvents = {
  /** Called just before the request is written. */
  sent(at: number): void;
  /** `status` is 0 when the connection broke first. */
  answered(at: number, status: number): void;
};

const connectionsMax = 256;

export class Lines {
  readonly #port: number;
  #events: LineEvents;
  readonly #idle: Line[] = [];
  readonly #all: Line[] = [];
  readonly #queue: Request[] = [];

  constructor(port: number, events: LineEvents) {
    this.#port = port;
    this.#events = events;
  }

  get waiting(): number {
    return this.#queue.length;
  }

  /** Gives the idle connections to another sender, whose events are called from now on. */
  handTo(events: LineEvents): void {
    this.#events = events;
  }

  send(request: Request): void {
    const line = this.#idle.pop() ?? this.#open();
    if (line === null) this.#queue.push(request);
    else this.#write(line, request);
  }

  close(): void {
    for (const line of this.#all) line.close();
  }

  #open(): Line | null {
    if (this.#all.length === connectionsMax) return null;
    const line = new Line(this.#port, (at, status) => {
      const next = this.#queue.shift();
      if (next === undefined) this.#idle.push(line);
      else this.#write(line, next);
      this.#events.answered(at, status);
    });
    this.#all.push(line);
    return line;
  }

  #write(line: Line, request: Request): void {
    this.#events.sent(request.at);
    line.write(request);
  }
}

class Line {
  readonly #port: number;
  readonly #answered: (at: number, status: number) => void;
  #socket: ReturnType<typeof connect> | null = null;
  #under: number | null = null;

  constructor(port: number, answered: (at: number, status: number) => void) {
    this.#port = port;
    this.#answered = answered;
  }

  write(request: Request): void {
    this.#under = request.at;
    this.#socket ??= this.#connect();
    this.#socket.write(request.bytes, 'latin1');
  }

  close(): void {
    this.#under = null;
    this.#socket?.destroy();
  }

  #connect(): ReturnType<typeof connect> {
    const socket = connect({ port: this.#port, host: '127.0.0.1', noDelay: true });
    const take = frames((bytes, start) =>
      this.#end(Number(bytes.toString('latin1', start + 9, start + 12))),
    );
    socket.on('data', take);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      this.#socket = null;
      this.#end(0);
    });
    return socket;
  }

  #end(status: number): void {
    const at = this.#under;
    this.#under = null;
    if (at !== null) this.#answered(at, status);
  }
}
