/**
 * Many people who come, talk for a while and go, with their model and their receiver: all on bare
 * sockets, so that most of the machine is left to the program.
 */
import assert from 'node:assert/strict';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { Lines } from '../../../bench/lines.ts';
import { frames } from '../../../bench/sockets.ts';
import { secret } from '../../support/program.ts';
import { patienceMs } from '../../support/waiting.ts';

const inFlightMax = 256;
/** The pause before a refused message is sent again, as often as it takes. */
const againMs = 5;
/** The number of conversations that are present at a time. */
const present = 1_000;
const accepted = 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n';

export class Crowd implements AsyncDisposable {
  readonly #random: () => number;
  readonly #conversations: number;
  readonly #servers: Server[] = [];
  readonly #sockets = new Set<Socket>();
  /** The unanswered numbers of each conversation, in the order of their messages. */
  readonly #waiting = new Map<number, number[]>();
  /** Number and conversation of each message without a 200; a conversation has one at a time. */
  readonly #asking = new Map<number, number>();
  readonly #busy = new Set<number>();
  #lines: Lines | null = null;
  #next = 0;
  #last = 0;
  #share = 0;
  replied = 0;
  refused = 0;
  /** The first fault. */
  #fault: string | null = null;
  #progressed: () => void = () => {};
  modelUrl = '';
  receiverUrl = '';

  constructor(random: () => number, conversations: number) {
    this.#random = random;
    this.#conversations = conversations;
  }

  async open(): Promise<void> {
    this.modelUrl = await this.#listen((text, socket) => this.#think(text, socket));
    const receiver = await this.#listen((text, socket) => this.#receive(text, socket));
    this.receiverUrl = `${receiver}/replies`;
  }

  enter(port: number): void {
    this.#lines = new Lines(port, {
      sent: () => {},
      answered: (at, status) => this.#answered(at, status),
    });
  }

  /**
   * Sends this many messages, and waits until each has its reply.
   * @param share of the whole soak that is over, from 0 to 1; it decides which people are present
   */
  async talk(messages: number, share: number): Promise<void> {
    this.#last += messages;
    this.#share = share;
    while (this.#next < this.#last && this.#next - this.replied < inFlightMax) this.#say();
    for (let seen = -1; !this.#over;) {
      assert.notEqual(this.replied, seen, `no reply within ${patienceMs} ms after ${seen}`);
      seen = this.replied;
      await this.#someProgress();
    }
    assert.equal(this.#fault, null);
    assert.equal(this.#waiting.size + this.#asking.size, 0, 'nothing is left without a reply');
  }

  get #over(): boolean {
    const done = this.replied === this.#last && this.#asking.size === 0;
    return done || this.#fault !== null;
  }

  /** Resolves when all messages are answered, or after some time. */
  #someProgress(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, patienceMs);
      this.#progressed = () => {
        if (!this.#over) return;
        clearTimeout(timer);
        resolve();
      };
      this.#progressed();
    });
  }

  #say(): void {
    const number = this.#next++;
    const who = this.#someone();
    const waiting = this.#waiting.get(who);
    if (waiting === undefined) this.#waiting.set(who, [number]);
    else waiting.push(number);
    this.#busy.add(who);
    this.#asking.set(number, who);
    this.#ask(number, who);
  }

  /** A present conversation without a message on its way to a 200, so that the order is known. */
  #someone(): number {
    const here = Math.min(present, this.#conversations);
    const first = Math.floor(this.#share * (this.#conversations - here));
    for (;;) {
      const who = first + Math.floor(this.#random() * here);
      if (!this.#busy.has(who)) return who;
    }
  }

  #ask(number: number, who: number): void {
    const text = `#${number}# what a person might say on a quiet day, and then some more of it`;
    const body = `{"sender_id":"p${who}","conversation_id":"c${who}","text":"${text}"}`;
    this.#lines!.send({
      at: number,
      bytes:
        `POST /webhook HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${secret}\r\n` +
        `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    });
  }

  #answered(number: number, status: number): void {
    const who = this.#asking.get(number);
    if (who === undefined) return;
    if (status === 200) {
      this.#asking.delete(number);
      this.#busy.delete(who);
    } else {
      this.refused++;
      setTimeout(() => this.#ask(number, who), againMs);
    }
    this.#progressed();
  }

  #think(text: string, socket: Socket): void {
    const end = text.lastIndexOf('#');
    const number = text.slice(text.lastIndexOf('#', end - 1) + 1, end);
    const content = end < 0 ? '' : `re #${number}# and that is all there is to say`;
    const body = JSON.stringify({
      model: 'llama3.2',
      models: [{ name: 'llama3.2' }],
      message: { role: 'assistant', content },
      done: true,
      done_reason: 'stop',
    });
    const head = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ';
    socket.write(`${head}${body.length}\r\n\r\n${body}`, 'latin1');
  }

  #receive(text: string, socket: Socket): void {
    socket.write(accepted, 'latin1');
    const number = Number(/#(\d+)#/.exec(text)?.[1]);
    const who = Number(/"conversation_id":"c(\d+)"/.exec(text)?.[1]);
    const waiting = this.#waiting.get(who);
    const expected = waiting?.shift();
    if (expected !== number) this.#fault ??= `c${who} got reply ${number}, not ${expected}`;
    if (waiting?.length === 0) this.#waiting.delete(who);
    this.replied++;
    if (this.#next < this.#last) this.#say();
    this.#progressed();
  }

  async #listen(serve: (text: string, socket: Socket) => void): Promise<string> {
    const server = createServer({ noDelay: true }, (socket) => {
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
      socket.on('error', () => socket.destroy());
      const each = frames((bytes, start, _body, end) =>
        serve(bytes.toString('latin1', start, end), socket),
      );
      socket.on('data', each);
    });
    this.#servers.push(server);
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#lines?.close();
    for (const socket of this.#sockets) socket.destroy();
    for (const server of this.#servers) await new Promise((resolve) => server.close(resolve));
  }
}
