import { paced } from './paced.ts';
import { testSmallest } from './smallest.ts';

testSmallest(paced);
