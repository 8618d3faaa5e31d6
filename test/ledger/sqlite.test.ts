import { testLedgerContract } from '../contract/ledger.ts';
import { openSound, sqliteBackend } from '../contract/ledger/forms.ts';

testLedgerContract('SQLite', sqliteBackend, openSound(sqliteBackend));
