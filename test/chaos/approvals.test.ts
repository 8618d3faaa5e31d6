import { approvals } from './approvals.ts';
import { testSmallest } from './smallest.ts';

testSmallest(approvals);
