import { testLedgerContract } from '../contract/ledger.ts';
import { openSound, sqliteBackend } from '../contract/ledger/backends.ts';

testLedgerContract('SQLite', sqliteBackend, openSound(sqliteBackend));
