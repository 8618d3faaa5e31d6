/** How a start of the former release takes a database for itself alone, or learns its owner. */
import type { Client } from 'pg';
import {
  formerRows,
  hasEnded,
  lockKey,
  othersColumns,
  untilFree,
  type Attempt,
  type Heartbeats,
  type Locked,
  type Other,
  type TakingDeps,
} from '../../../src/ledger/postgres/ledger/instance.ts';

export type Taken = { readonly kind: 'taken'; readonly id: number } | Locked;

/**
 * @param client in no transaction
 * @throws the server's error, or the reason of the signal
 */
export async function takeInstance(client: Client, parts: TakingDeps): Promise<Taken> {
  const taken = await untilFree(parts, (still) => tryToTake(client, parts, still));
  return 'kind' in taken ? taken : { kind: 'taken', id: taken.got };
}

async function tryToTake(
  client: Client,
  { version, self }: TakingDeps,
  still: Heartbeats,
): Promise<Attempt<number>> {
  // This transaction must see the changes made while it waited for the lock.
  await client.query('BEGIN ISOLATION LEVEL READ COMMITTED');
  try {
    await client.query('SELECT pg_advisory_xact_lock($1)', [lockKey]);
    const { rows } = await client.query<Other>(
      `SELECT ${othersColumns} FROM svc.instance WHERE NOT dead ORDER BY id`,
    );
    const alive = rows.find((other) => !hasEnded(other, still, self));
    if (alive !== undefined) return { inTheWay: alive };
    // Waits for a batch of theirs that is under way.
    await client.query('UPDATE svc.instance SET dead = true WHERE NOT dead');
    const { rows: own } = await client.query<{ id: number }>(
      'INSERT INTO svc.instance (version, process) VALUES ($1, $2) RETURNING id',
      [version, JSON.stringify(self)],
    );
    await client.query(formerRows);
    return { got: own[0]!.id };
  } finally {
    await client.query('COMMIT');
  }
}
