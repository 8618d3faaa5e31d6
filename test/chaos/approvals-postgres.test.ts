import { approvalsMany } from './approvals-many.ts';
import { testSmallest } from './smallest.ts';

testSmallest(approvalsMany);
