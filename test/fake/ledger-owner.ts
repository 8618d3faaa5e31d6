/** A process that owns a ledger until it is killed. Arguments: the database file. */
import { systemClock } from '../../src/lib/clock.ts';
import { openSqliteLedger } from '../../src/ledger/sqlite/sqlite.ts';
import { failure } from '../../src/domain/failure.ts';
import { effects, hook, ids, said } from '../contract/ledger/kit.ts';

const ledger = await openSqliteLedger({
  path: process.argv[2]!,
  ...systemClock,
  ids,
  retentionDays: 30,
});
if ('kind' in ledger) throw new Error(ledger.message);

// ann: answered, with two replies under way; bob: one message in work, another waits.
await ledger.accept([said('ann', 'one')]);
const [ann] = await ledger.claim('in', hook, 1);
await ledger.complete(ann!, effects(ann!, ['a', 'b']));
await ledger.claim('out', hook, 1);
await ledger.accept([said('bob', 'two'), said('bob', 'three', { dedupeKey: 'k' })]);
await ledger.claim('in', hook, 1);
// cid: a failed reply waits for its time: its receiver asks for an hour.
await ledger.accept([said('cid', 'four')]);
const [cid] = await ledger.claim('in', hook, 1);
await ledger.complete(cid!, effects(cid!, ['c']));
const [reply] = await ledger.claim('out', hook, 1);
const how = { park: false, possibleDuplicate: false };
const asked = failure('server_error', { retryAfterMs: 3_600_000 });
await ledger.defer(reply!, Date.now() + 3_600_000, asked, how);
// dee: a reply whose time had come, and whose next attempt was under way.
await ledger.accept([said('dee', 'five')]);
const [dee] = await ledger.claim('in', hook, 1);
await ledger.complete(dee!, effects(dee!, ['d']));
const [again] = await ledger.claim('out', hook, 1);
await ledger.defer(again!, Date.now() - 1, failure('server_error'), { ...how, park: true });
while ((await ledger.claim('out', hook, 1)).length === 0) await new Promise(setImmediate);

process.send!('everything is on disk');
setInterval(() => {}, 1_000);
