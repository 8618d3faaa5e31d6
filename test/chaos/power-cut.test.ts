import { powerCut } from './power-cut.ts';
import { testSmallest } from './smallest.ts';

testSmallest(powerCut);
