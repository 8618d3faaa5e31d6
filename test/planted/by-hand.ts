/** Faults of takeovers: conversations that an operator answers. */
import type { Fault } from './fault.ts';

export const byHand: readonly Fault[] = [
  {
    name: 'A model is asked in a conversation that an operator has taken over.',
    file: 'src/ledger/engine/working-set.ts',
    find: "if (queue.isTakenOver) return 'taken_over';",
    replace: '',
    seenBy: ['test/ledger/memory.test.ts'],
  },
  {
    name: 'The turn at work goes on when its conversation is taken over.',
    file: 'src/ledger/engine/takeover.ts',
    find: 'this.#claims.takeBack(channel, conversation);',
    replace: '',
    seenBy: ['test/ledger/memory.test.ts'],
  },
  {
    name: 'A restart gives held conversations back.',
    file: 'src/ledger/sqlite/ledger/takeover.ts',
    find: 'rows.takeOver(channel, conversation);',
    replace: 'rows.queuesOn(channel, conversation);',
    seenBy: ['test/ledger/sqlite.test.ts'],
  },
  {
    name: 'An answer by hand to a private question is public.',
    file: 'src/pipeline/takeover/takeover.ts',
    find: `emptyContext(
    strictest(message.sensitivity, route.brain.sensitivity, ...labels),`,
    replace: "emptyContext(strictest('public', ...labels),",
  },
  {
    name: 'An answer by hand that came after that of a model is told as sent.',
    file: 'src/ledger/postgres/ledger/takeover.ts',
    find: "resolve(isDone ? 'answered' : 'answered_already');",
    replace: "resolve(isDone ? 'answered' : 'answered');",
    seenBy: ['src/ledger/postgres/queues/by-hand.test.ts'],
  },
];
