/**
 * Load and receiver in one process: a message is done when its reply arrives here. It gets its
 * rounds over IPC, one at a time, and returns the measurements. Time limits every round: a message
 * without a reply some seconds after the last one was sent is lost.
 */
import { cpuSecondsOf } from './cpu-time.ts';
import { type LineEvents, Lines } from './lines.ts';
import { type Measured, Record } from './record.ts';
import { digits, hash, listen, markDigits, nowUs, readDigits, timeDigits } from './sockets.ts';

export type Round = {
  readonly port: number;
  readonly token: string;
  readonly pid: number;
  /** A closed loop keeps a number in flight; an open one sends a number a second in any case. */
  readonly shape: { readonly inFlight: number } | { readonly perSecond: number };
  /** The duration of sending and counting. */
  readonly ms: number;
  /** Sends at most this many messages, and ends the round with the last reply. */
  readonly messages?: number;
  readonly conversations: number;
  /** Keeps the connections open for the next such round, which then need not open them. */
  readonly keepsLines?: boolean;
  /** The model never answers these; the round ends when each has its 200. */
  readonly hang?: boolean;
};

const patienceMs = 8_000;
/** The server still works after its last reply, and the kernel counts a thread when it pauses. */
const settlesMs = 4;
const said = ` ${'words that a person might well say to it on some quiet day '.repeat(3)}`;
/** Has a body, as the answers of nearly all receivers. */
const taken =
  'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 11\r\n\r\n{"ok":true}';

/** Idle connections by port. One that waits for an answer would disturb the next round. */
const kept = new Map<number, Lines>();
let nextNumber = 1;
let roundCount = 0;
let running: Running | null = null;

class Running {
  readonly #round: Round;
  readonly #done: (measured: Measured) => void;
  readonly #record = new Record();
  readonly #lines: Lines;
  readonly #first = nextNumber;
  readonly #name = `r${++roundCount}`;
  readonly #startUs = nowUs();
  readonly #startCpu: number;
  readonly #timers: NodeJS.Timeout[];
  #endCpu = 0;
  #sent = 0;
  #sending = true;

  constructor(round: Round, done: (measured: Measured) => void) {
    this.#round = round;
    this.#done = done;
    this.#startCpu = cpuSecondsOf(round.pid);
    this.#lines = linesTo(round, {
      sent: (at) => this.#record.sent(at, nowUs()),
      answered: (at, status) => this.#answered(at, status),
    });
    this.#timers = [
      setTimeout(() => this.#stopSending(), round.ms),
      setTimeout(() => this.#finish(), round.ms + patienceMs),
    ];
    const { shape } = round;
    if ('perSecond' in shape) this.#timers.push(setInterval(() => this.#keepPace(shape), 1));
    else for (let at = 0; at < shape.inFlight; at++) this.#sendNext();
  }

  gotReply(number: number, askedUs: number): void {
    const at = number - this.#first;
    if (at < 0 || !this.#record.gotReply(at, askedUs, nowUs())) return;
    if ('inFlight' in this.#round.shape) this.#sendNext();
    this.#look();
  }

  #keepPace(shape: { perSecond: number }): void {
    const due = Math.floor(((nowUs() - this.#startUs) / 1e6) * shape.perSecond);
    while (this.#sending && this.#sent < due) this.#sendNext();
  }

  #sendNext(): void {
    if (!this.#sending) return;
    const at = this.#sent++;
    nextNumber++;
    this.#lines.send({ at, bytes: this.#bytesOf(at) });
    if (this.#sent === this.#round.messages) this.#stopSending();
  }

  #bytesOf(at: number): string {
    const { conversations, token, hang } = this.#round;
    const who = digits(at % conversations, 6);
    const text = `#${digits(this.#first + at, markDigits)}${hang === true ? 'h' : 'n'}${said}`;
    const conversation = `"conversation_id":"${this.#name}-${who}"`;
    const body = `{"sender_id":"user-${who}","sender_name":"A",${conversation},"text":"${text}"}`;
    return (
      `POST /webhook HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${token}\r\n` +
      `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
    );
  }

  #answered(at: number, status: number): void {
    this.#record.answered(at, status, nowUs());
    const again = status !== 200 && 'inFlight' in this.#round.shape;
    if (again) setTimeout(() => this.#sendNext(), 5);
    this.#look();
  }

  #stopSending(): void {
    this.#sending = false;
    this.#endCpu = cpuSecondsOf(this.#round.pid);
    this.#look();
  }

  #look(): void {
    if (!this.#sending && this.#isSettled()) this.#finish();
  }

  #isSettled(): boolean {
    const { accepted, replied, refused, failed } = this.#record;
    const wanted = this.#round.hang === true ? accepted : Math.min(accepted, replied);
    return wanted + refused + failed >= this.#sent;
  }

  #finish(): void {
    if (running !== this) return;
    running = null;
    for (const timer of this.#timers) clearTimeout(timer);
    if (this.#round.keepsLines !== true || !this.#isSettled()) {
      this.#lines.close();
      kept.delete(this.#round.port);
    }
    const endUs = nowUs();
    if (this.#round.messages === undefined) {
      this.#tell(this.#startUs + this.#round.ms * 1e3, this.#endCpu);
    } else setTimeout(() => this.#tell(endUs, cpuSecondsOf(this.#round.pid)), settlesMs);
  }

  #tell(endUs: number, endCpu: number): void {
    this.#done(this.#record.measured(this.#startUs, endUs, endCpu - this.#startCpu));
  }
}

function linesTo({ port, keepsLines }: Round, events: LineEvents): Lines {
  const lines = kept.get(port) ?? new Lines(port, events);
  if (keepsLines === true) kept.set(port, lines);
  lines.handTo(events);
  return lines;
}

const port = await listen((socket, bytes, _start, body, end) => {
  socket.write(taken, 'latin1');
  const mark = bytes.indexOf(hash, body);
  if (mark < 0 || mark >= end) return;
  const number = readDigits(bytes, mark + 1, markDigits);
  running?.gotReply(number, readDigits(bytes, mark + markDigits + 2, timeDigits));
});

process.on('message', (round: Round) => {
  running = new Running(round, (measured) => process.send?.({ measured }));
});
process.on('disconnect', () => process.exit());
process.send?.({ port });
