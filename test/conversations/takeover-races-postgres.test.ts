/** Takeovers and releases race with a conversation's turns, as on the other backends. */
import { raceByHand } from '../contract/ledger/takeovers.ts';
import { openSound, postgresBackend } from '../contract/ledger/backends.ts';
import { postgresTest } from '../fake/postgres.ts';
import { runs } from '../support/runs.ts';

postgresTest('each message has one answer on a server, too, and none is lost', async () => {
  await using it = await openSound(postgresBackend)({});
  await raceByHand(it, runs(34));
});
