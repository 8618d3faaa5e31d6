import { testLedgerContract } from '../contract/ledger.ts';
import { openSound, postgresBackend } from '../contract/ledger/backends.ts';
import { noPostgres } from '../fake/postgres.ts';

testLedgerContract('PostgreSQL', postgresBackend, openSound(postgresBackend), noPostgres);
