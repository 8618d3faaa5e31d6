import { testLedgerContract } from './contract/ledger.ts';
import { memoryForm, openSound } from './contract/ledger/forms.ts';

testLedgerContract('memory', memoryForm, openSound(memoryForm));
