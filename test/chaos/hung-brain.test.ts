import { hungBrain } from './hung-brain.ts';
import { testSmallest } from './smallest.ts';

testSmallest(hungBrain);
