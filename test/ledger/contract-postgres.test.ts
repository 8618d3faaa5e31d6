import { testLedgerContract } from '../contract/ledger.ts';
import { openSound, postgresForm } from '../contract/ledger/forms.ts';
import { noPostgres } from '../fake/postgres.ts';

testLedgerContract('PostgreSQL', postgresForm, openSound(postgresForm), noPostgres);
