/** Faults of several instances on one database: fences, queues, leases, dead instances. */
import type { Fault } from './fault.ts';

const writer = 'src/ledger/postgres/write/writer.ts';
const accepts = 'src/ledger/postgres/write/accepts.ts';
const moves = 'src/ledger/postgres/queues/moves.ts';
const statements = 'src/ledger/postgres/queues/queue-statements.ts';
const owned = 'src/ledger/postgres/queues/owned-queues.ts';
const channelsToWork = 'src/ledger/postgres/queues/queues.ts';
const queues = 'src/ledger/postgres/queues/queues.ts';
const posts = 'src/ledger/postgres/peers/broadcast-log.ts';
const silence = 'src/ledger/postgres/peers/heartbeat.ts';
const history = 'src/ledger/postgres/ledger/history.ts';

const fences: readonly Fault[] = [
  {
    name: 'A batch that was given up lands when it arrives after all.',
    file: writer,
    find: ' AND grp = $2::bigint - 1 RETURNING 1)',
    replace: ' AND grp < 9 * $2::bigint RETURNING 1)',
  },
  {
    name: 'Behind a batch that was undone queues are taken.',
    file: writer,
    find: "'WHERE id = $1 AND NOT dead AND grp = $2 FOR SHARE) AS mine'",
    replace: "'WHERE id = $1 AND NOT dead AND grp <= $2 FOR SHARE) AS mine'",
  },
  {
    name: 'One that is declared dead between its batch and what goes behind it takes queues.',
    file: writer,
    find: "'WHERE id = $1 AND NOT dead AND grp = $2 FOR SHARE) AS mine'",
    replace: "'WHERE id = $1 AND grp = $2 FOR SHARE) AS mine'",
  },
  {
    name: 'What lets queues go is in the transaction of its batch, which it holds up and undoes.',
    file: writer,
    find: 'if (asked.length === 0) return [await this.#send(client, batch), []];',
    replace: `if (asked.length >= 0) {
      const all = await this.#send(client, [...batch, ...asked]);
      if (all.kind === 'failed') return [all, null];
      const answers = all.answers.slice(0, batch.length);
      return [{ kind: 'answered', answers }, all.answers.slice(batch.length)];
    }`,
  },
];

const ownership: readonly Fault[] = [
  {
    name: 'Queues are taken in a transaction that asks for no fence.',
    file: moves,
    find: 'takes: takes.length > 0 }',
    replace: 'takes: false }',
  },
  {
    name: 'A queue is not taken with its message, but later.',
    file: queues,
    find: 'takes: this.#hasRoom, takesSuspects',
    replace: 'takes: false, takesSuspects',
  },
  {
    name: 'The queue of another instance is taken with a message.',
    file: accepts,
    find: `'excluded.tail > 0 AND lane.owner IS NULL'`,
    replace: "'excluded.tail > 0'",
    seenBy: ['src/ledger/postgres/queues/order.test.ts'],
  },
  {
    name: 'A queue behind a suspected message is taken by who does not try that.',
    file: accepts,
    find: 'const taken = `${free} AND $3 AND lane.waits < $4`;',
    replace: 'const taken = `${free} AND $3 AND lane.waits < 9`;',
    seenBy: ['src/ledger/postgres/queues/the-dead.test.ts'],
  },
  {
    name: 'A messenger’s suspected message waits for who tries the others, and may not have it.',
    file: channelsToWork,
    find: "triesAll ? 'all' : channels.filter(isLease)",
    replace: "triesAll ? 'all' : []",
    seenBy: ['src/ledger/postgres/queues/suspects.test.ts'],
  },
  {
    name: 'A message of the queue of another instance is worked where it came in.',
    file: owned,
    find: 'if (facts.owner !== this.#deps.instance) {',
    replace: 'if (facts.owner === null) {',
  },
  {
    name: 'A queue that is taken with a message does not count up how often it was taken.',
    file: accepts,
    find: 'epoch = lane.epoch + CASE WHEN ${taken} THEN 1 ELSE 0 END,',
    replace: 'epoch = lane.epoch + CASE WHEN ${taken} THEN 0 ELSE 0 END,',
    seenBy: ['src/ledger/postgres/queues/order.test.ts'],
  },
  {
    name: 'A queue that is taken since rows wait in it does not count up how often it was taken.',
    file: statements,
    find: 'epoch + 1, waits = greatest(',
    replace: 'epoch + 0, waits = greatest(',
  },
  {
    name: 'Of a queue that others have had meanwhile is remembered what was before.',
    file: history,
    find: 'this.#memories.taken(where, epoch);',
    replace: '',
    seenBy: ['src/ledger/postgres/queues/order.test.ts'],
  },
];

const letting: readonly Fault[] = [
  {
    name: 'Messages that another instance has accepted in between are passed over.',
    file: owned,
    find: "if (queue.unread === 'nothing' && arrived.n === queue.tail + 1) {",
    replace: "if (queue.unread === 'nothing') {",
  },
  {
    name: 'What is put back into a queue is worked before what has come into it elsewhere.',
    file: owned,
    find: "if (queue.unread !== 'nothing' || to.tail !== queue.tail + 1) {",
    replace: "if (queue.unread !== 'nothing') {",
  },
  {
    name: 'A queue that was taken again, with what lies in it, is believed to be empty.',
    file: owned,
    find: 'const mustRead = waits > 0 || isLost;',
    replace: 'const mustRead = isLost;',
  },
  {
    name: 'A queue is let go although something has come into it elsewhere.',
    file: moves,
    find: 'const given = waits === 2;',
    replace: 'const given = waits <= 2;',
  },
  {
    name: 'A queue that was let go, and that was undone, is believed to be empty.',
    file: owned,
    find: 'const isLost = this.#released.get(keyOf(where)) === epoch;',
    replace: 'const isLost = epoch < 0;',
  },
  {
    name: 'What lets go late lets go of a queue that was taken again since.',
    file: statements,
    find: 'epoch = x.epoch',
    replace: 'epoch >= x.epoch',
  },
  {
    name: 'A queue that is locked just then holds up who wants to let go of it.',
    file: statements,
    find: "const unlocked = 'FOR UPDATE SKIP LOCKED';",
    replace: "const unlocked = 'FOR UPDATE';",
  },
];

const dead: readonly Fault[] = [
  {
    name: 'What was in hand when an instance died counts as never tried.',
    file: statements,
    find: "WHEN was.ended IS NULL THEN 'crash'",
    replace: "WHEN was.ended IS NULL THEN 'clean'",
  },
  {
    name: 'What one that ended in order could not let go counts as tried.',
    file: statements,
    find: "= 'true' THEN 'clean'",
    replace: "= 'true' THEN 'crash'",
  },
  {
    name: 'Of one that ends in order it is not written down.',
    file: 'src/ledger/postgres/ledger/instance.ts',
    find: 'JSON.stringify({ clean: true })',
    replace: 'JSON.stringify({})',
    seenBy: ['src/ledger/postgres/queues/the-dead.test.ts'],
  },
  {
    name: 'One that died counts as cleaned up before its queues are free.',
    file: 'src/ledger/postgres/queues/owned-queues.ts',
    find: 'if (!(await free(queues.slice(from, from + queuesMax)))) areFreed = false;',
    replace: 'await free(queues.slice(from, from + queuesMax));',
  },
  {
    name: 'One that has moved meanwhile is declared dead.',
    file: silence,
    find: 'ON was.id = x.id AND was.grp = x.grp AND NOT was.dead',
    replace: 'ON was.id = x.id AND NOT was.dead',
  },
  {
    name: 'When the server was away for long, all are dead.',
    file: silence,
    find: 'const known = isNew ? undefined : this.#watched.get(id);',
    replace: 'const known = this.#watched.get(id);',
  },
  {
    name: 'Of a while in which the server was away all counts.',
    file: silence,
    find: 'const countsMs = Math.min(gapMs, this.#deadMs / 3);',
    replace: 'const countsMs = gapMs;',
  },
];

const held: readonly Fault[] = [
  {
    name: 'A lease is worked as soon as it is asked for.',
    file: posts,
    find: 'const dead = names.flatMap((name) => this.#owners.get(name) ?? []);',
    replace: `const dead = names.flatMap((name) => this.#owners.get(name) ?? []);
    for (const name of names) this.#had.add(name);
    this.#wake();`,
  },
  {
    name: 'A lease that another instance has is taken from it.',
    file: posts,
    find: "'WHERE was.owner IS NULL OR was.owner = ANY($3::bigint[])'",
    replace: "'WHERE $3::bigint[] IS NOT NULL'",
  },
  {
    name: 'A lease is worked on although no heartbeat has come back for too long.',
    file: posts,
    find: 'this.#expiry = this.#deps.deadlines.after(ms, () => this.#expire());',
    replace: 'this.#expiry = this.#deps.deadlines.after(ms, () => {});',
  },
  {
    name: 'Whose a lease is counts from the answer on, not from the question.',
    file: posts,
    find: 'this.#trustFor(this.#deps.times.holdMs - (this.#deps.steady() - askedAt));',
    replace: 'if (askedAt >= 0) this.#trustFor(this.#deps.times.holdMs);',
  },
  {
    name: 'A lease is worked on although somebody else has it.',
    file: posts,
    find: 'if (!this.#held.has(name)) stop.abort(leaseLost());',
    replace: 'if (stop === null) break;',
  },
  {
    name: 'A lease is held twice in one instance.',
    file: posts,
    find: 'const mayBegin = this.holds(name) && !this.#running.has(name);',
    replace: 'const mayBegin = this.holds(name);',
  },
  {
    name: 'A lease that is on its way to be let go is held again.',
    file: posts,
    find: 'for (const name of names) this.#held.delete(name);',
    replace: '',
  },
  {
    name: 'What one tells the others counts as heard before all have heard it.',
    file: 'src/ledger/postgres/peers/broadcast-log.ts',
    find: 'if (waiting.n === null || waiting.n > least) continue;',
    replace: 'if (waiting.n === null) continue;',
  },
  {
    name: 'Queues of a messenger are worked on by one that has its lease no more.',
    file: channelsToWork,
    find: 'return (channel) => leasedElsewhere.has(channel) ||',
    replace: 'return (channel) =>',
  },
  {
    name: 'Queues of a channel stay with one that does not serve it any more.',
    file: channelsToWork,
    find: 'leasedElsewhere.has(channel) || own?.includes(channel) === false',
    replace: 'leasedElsewhere.has(channel)',
  },
];

export const many: readonly Fault[] = [...fences, ...ownership, ...letting, ...dead, ...held];
