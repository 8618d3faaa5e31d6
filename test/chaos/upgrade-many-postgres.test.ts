import { testSmallest } from './smallest.ts';
import { upgradeMany } from './upgrade-many.ts';

testSmallest(upgradeMany);
