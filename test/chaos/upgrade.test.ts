import { testSmallest } from './smallest.ts';
import { upgrade } from './upgrade.ts';

testSmallest(upgrade);
