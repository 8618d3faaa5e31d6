/**
 * The contract with a pooler before the server, which keeps no session. The cases that reopen a
 * ledger send every kind of statement and find all written rows. The other cases test the ledger,
 * not the server.
 */
import { after } from 'node:test';
import { testLedgerContract } from '../contract/ledger.ts';
import { openSound, postgresBehind } from '../contract/ledger/backends.ts';
import type { LedgerCase } from '../contract/ledger/kit.ts';
import { noPostgres, testServer } from '../fake/postgres.ts';
import { noPgBouncer, startPgBouncer, type PgBouncer } from '../fake/postgres/pgbouncer.ts';

let pooler: Promise<PgBouncer> | null = null;

async function pooled(url: string): Promise<string> {
  pooler ??= testServer().then((server) => startPgBouncer(server.url('postgres')));
  return (await pooler).url(url);
}

after(async () => (await pooler)?.[Symbol.asyncDispose]());
const backend = postgresBehind(pooled);
const skip = noPostgres || noPgBouncer;
const isDurable = ({ durable = false }: LedgerCase): boolean => durable;
testLedgerContract('PostgreSQL, pooled', backend, openSound(backend), skip, isDurable);
