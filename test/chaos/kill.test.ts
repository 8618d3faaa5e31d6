import { kill } from './kill.ts';
import { testSmallest } from './smallest.ts';

testSmallest(kill);
