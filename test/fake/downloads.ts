/** How the platforms send files: whole and at once, or as a test asks. */
import type { ServerResponse } from 'node:http';

/** `cut`: the connection ends halfway. `slow`: in so many pieces, with a pause before each. */
export type Sending =
  | { readonly kind: 'whole' }
  | { readonly kind: 'cut' }
  | { readonly kind: 'slow'; readonly pieces: number; readonly everyMs: number }
  | { readonly kind: 'status'; readonly status: number };

export class Downloads {
  /** The requested paths in order, each noted once its answer has begun. */
  readonly asked: string[] = [];
  /** The number of downloads now under way. */
  underWay = 0;
  /** While set, every download stops halfway. */
  stalled = false;
  /** How the fake sends the next file. */
  sending: (path: string) => Sending = () => ({ kind: 'whole' });
  readonly #changed: () => void;

  constructor(changed: () => void) {
    this.#changed = changed;
  }

  send(path: string, bytes: Uint8Array, response: ServerResponse): void {
    const headers = {
      'content-type': 'application/octet-stream',
      'content-length': bytes.length,
    };
    const half = bytes.subarray(0, bytes.length / 2);
    const sending = this.stalled ? ({ kind: 'stalled' } as const) : this.sending(path);
    if (sending.kind === 'status') response.writeHead(sending.status).end();
    else response.writeHead(200, headers);
    if (sending.kind === 'stalled') response.write(half);
    else if (sending.kind === 'cut') response.write(half, () => response.destroy());
    else if (sending.kind === 'slow') drip(bytes, sending, response);
    else if (sending.kind === 'whole') response.end(bytes);
    this.underWay++;
    response.once('close', () => this.underWay--);
    this.asked.push(path);
    this.#changed();
  }
}

function drip(
  bytes: Uint8Array,
  { pieces, everyMs }: Extract<Sending, { kind: 'slow' }>,
  response: ServerResponse,
): void {
  const each = Math.ceil(bytes.length / pieces);
  let at = 0;
  response.flushHeaders();
  const timer = setInterval(() => {
    response.write(bytes.subarray(at, (at += each)));
    if (at < bytes.length) return;
    clearInterval(timer);
    response.end();
  }, everyMs);
  response.once('close', () => clearInterval(timer));
}
