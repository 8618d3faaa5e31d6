import { failingDisk } from './failing-disk.ts';
import { testSmallest } from './smallest.ts';

testSmallest(failingDisk);
