/** The ledger's contract over PostgreSQL. */
import { after } from 'node:test';
import { testLedgerContract } from './contract/ledger.ts';
import { openSound, postgresForm } from './contract/ledger/forms.ts';
import { testServer } from './fake/postgres.ts';

after(async () => (await testServer()).stop());
testLedgerContract('PostgreSQL', postgresForm, openSound(postgresForm));
