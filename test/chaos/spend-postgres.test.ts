import { testSmallest } from './smallest.ts';
import { spend } from './spend.ts';

testSmallest(spend);
