/** The contract with a pooler before the server, which keeps no session. */
import { after } from 'node:test';
import { testLedgerContract } from '../contract/ledger.ts';
import { openSound, postgresBehind } from '../contract/ledger/forms.ts';
import { noPostgres, testServer } from '../fake/postgres.ts';
import { noPgBouncer, startPgBouncer, type PgBouncer } from '../fake/postgres/pgbouncer.ts';

let pooler: Promise<PgBouncer> | null = null;

async function pooled(url: string): Promise<string> {
  pooler ??= testServer().then((server) => startPgBouncer(server.url('postgres')));
  return (await pooler).url(url);
}

after(async () => (await pooler)?.[Symbol.asyncDispose]());
const form = postgresBehind(pooled);
testLedgerContract('PostgreSQL, pooled', form, openSound(form), noPostgres || noPgBouncer);
