import { testLedgerContract } from './contract/ledger.ts';
import { openSound, postgresForm } from './contract/ledger/forms.ts';

testLedgerContract('PostgreSQL', postgresForm, openSound(postgresForm));
