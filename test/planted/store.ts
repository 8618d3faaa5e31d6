/** Faults of the ledger: what its forms share, and the form in memory. */
import type { Fault } from './fault.ts';

export const store: readonly Fault[] = [
  {
    name: 'A message is worked on twice when another of its conversation comes.',
    file: 'src/store/order/working-set.ts',
    find: 'if (head === undefined || lane.inBusy || this.#restoring) return;',
    replace: 'if (head === undefined || this.#restoring) return;',
    seenBy: ['test/ledger-memory.test.ts', 'test/ledger-sqlite.test.ts'],
  },
  {
    name: 'What is given back comes after all that waited behind it.',
    file: 'src/store/order/working-set.ts',
    find: 'this.ready.offerFirst(row);',
    replace: 'this.ready.offer(row);',
    seenBy: ['test/ledger-memory.test.ts'],
  },
  {
    name: 'A conversation takes messages in though a hundred of its replies wait.',
    file: 'src/store/order/working-set.ts',
    find: 'if (lane.replies >= repliesMax) return;',
    replace: '',
    seenBy: ['test/ledger-memory.test.ts', 'test/ledger-sqlite.test.ts'],
  },
  {
    name: 'There is room for any number of bytes.',
    file: 'src/store/order/intake-limit.ts',
    find: 'batch.length > room.messages || bytes > room.bytes',
    replace: 'batch.length > room.messages',
    seenBy: ['test/ledger-memory.test.ts', 'test/ledger-sqlite.test.ts'],
  },
  {
    name: 'A dead letter that is tried again is where its schedule ended.',
    file: 'src/store/order/open-claims.ts',
    find: 'row.attempt - row.replayedAfter',
    replace: 'row.attempt',
    seenBy: ['test/ledger-memory.test.ts', 'test/ledger-sqlite.test.ts'],
  },
  {
    name: 'What waits for a channel that is gone is given up after an hour.',
    file: 'src/store/order/unroutable.ts',
    find: 'const keptMs = 7 * 86_400_000;',
    replace: 'const keptMs = 3_600_000;',
    seenBy: ['test/unroutable.test.ts'],
  },
  {
    name: 'Deleting a sender begins the turns of who has the same id elsewhere anew.',
    file: 'src/store/order/removal.ts',
    find: 'if (channel !== whose.channel) return false;',
    replace: '',
    seenBy: ['test/ledger-memory.test.ts', 'test/ledger-sqlite.test.ts'],
  },
  {
    name: 'Messages with a long type of attachment fill the memory past every bound.',
    file: 'src/store/order/weight.ts',
    find: '(media?.type?.length ?? 0)',
    replace: '0',
    seenBy: ['test/ledger-memory.test.ts', 'test/ledger-sqlite.test.ts'],
  },
  {
    name: 'A message under a key of another is taken for its resend, without storage.',
    file: 'src/store/memory/known-keys.ts',
    find: 'known.fingerprint !== fingerprint;',
    replace: 'fingerprint === null;',
    seenBy: ['test/ledger-memory.test.ts', 'test/ledger-sqlite.test.ts'],
  },
  {
    name: 'A message that is sent again is answered again, without storage.',
    file: 'src/store/memory/memory.ts',
    find: 'if (key !== null) this.#known.add(',
    replace: 'if (key === undefined) this.#known.add(',
    seenBy: ['test/ledger-memory.test.ts', 'test/ledger-sqlite.test.ts'],
  },
  {
    name: 'A platform may forget a message that is in memory alone.',
    file: 'src/store/memory/known-keys.ts',
    find: 'return this.#progress.settled;',
    replace: 'return Promise.resolve();',
    seenBy: ['test/ledger-memory.test.ts', 'test/ledger-sqlite.test.ts'],
  },
  {
    name: 'A try that may have arrived is forgotten, without storage.',
    file: 'src/store/ledger/ledger.ts',
    find: 'row.possibleDuplicate = how.possibleDuplicate;',
    replace: '',
    seenBy: ['test/ledger-memory.test.ts', 'test/ledger-sqlite.test.ts'],
  },
];
