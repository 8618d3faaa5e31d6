import { gatheringKill } from './gathering-kill.ts';
import { testSmallest } from './smallest.ts';

testSmallest(gatheringKill);
