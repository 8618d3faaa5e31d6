/** The contract over two instances on one database, each call dealt to one of them. */
import { testLedgerContract } from './contract/ledger.ts';
import { openSound, postgresPairForm } from './contract/ledger/forms.ts';
import { noPostgres } from './fake/postgres.ts';

const form = postgresPairForm;
testLedgerContract('PostgreSQL, by two instances', form, openSound(form), noPostgres);
