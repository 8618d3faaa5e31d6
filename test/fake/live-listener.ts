/** A connection to the stream of live events, parsed by hand. */
import { connect } from 'node:net';
import type { Dropped, LiveEvent } from '../../src/domain/live-event.ts';

type ReceivedEvent = {
  readonly id: string;
  readonly event: string;
  readonly data: LiveEvent | Dropped;
};

export async function listen(port: number, ...lines: string[]) {
  const socket = connect(port, '127.0.0.1');
  const head = ['GET /api/v1/events HTTP/1.1', 'Host: localhost', ...lines];
  socket.write(`${head.join('\r\n')}\r\n\r\n`);
  const parser = new EventParser();
  socket.on('data', (part) => parser.take(String(part)));
  socket.on('error', () => {});
  const closed = new Promise((resolve) => socket.on('close', resolve));
  void closed.then(() => parser.end());
  await parser.until((block) => block.includes('retry') || block === 'closed');
  return { socket, closed, told: parser.told, blocks: parser.blocks, until: parser.until };
}

/** The blocks received. Chunk sizes come between blocks, since a chunk holds whole blocks. */
class EventParser {
  readonly blocks: string[] = [];
  readonly told: ReceivedEvent[] = [];
  #rest = '';
  #look: (block: string) => void = () => {};

  take(part: string): void {
    const blocks = (this.#rest + part).split('\n\n');
    this.#rest = blocks.pop()!;
    for (const block of blocks) {
      const frame = /^id: (.*)\nevent: (.*)\ndata: (.*)$/m.exec(block);
      if (frame === null) {
        this.blocks.push(block);
      } else {
        const [, id, event, data] = frame;
        this.told.push({ id: id!, event: event!, data: JSON.parse(data!) as LiveEvent | Dropped });
      }
      this.#look(block);
    }
  }

  /** Drops an incomplete block, and adds the block `closed`. */
  end(): void {
    this.#rest = '';
    this.take('closed\n\n');
  }

  /** Resolves when such a block comes, or has come already. */
  readonly until = (wanted: ((block: string) => boolean) | number): Promise<void> =>
    new Promise((resolve) => {
      const isIt =
        typeof wanted === 'number'
          ? () => this.told.at(-1)?.id.endsWith(`-${wanted}`) === true
          : wanted;
      this.#look = (block) => {
        if (isIt(block)) resolve();
      };
      for (const block of ['', ...this.blocks]) this.#look(block);
    });
}
