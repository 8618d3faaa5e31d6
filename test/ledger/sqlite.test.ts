import { testLedgerContract } from '../contract/ledger.ts';
import { openSound, sqliteForm } from '../contract/ledger/forms.ts';

testLedgerContract('SQLite', sqliteForm, openSound(sqliteForm));
