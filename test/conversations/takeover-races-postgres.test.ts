/** A conversation is taken over and given back against its turns, as with the other forms. */
import { raceByHand } from '../contract/ledger/by-hand.ts';
import { openSound, postgresBackend } from '../contract/ledger/forms.ts';
import { postgresTest } from '../fake/postgres.ts';
import { runs } from '../support/runs.ts';

postgresTest('each message has one answer on a server, too, and none is lost', async () => {
  await using it = await openSound(postgresBackend)({});
  await raceByHand(it, runs(34));
});
