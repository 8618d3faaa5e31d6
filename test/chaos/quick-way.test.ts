import { quickWay } from './quick-way.ts';
import { testSmallest } from './smallest.ts';

testSmallest(quickWay);
