import { malformedProof } from './malformed.ts';
import { testSmallest } from './smallest.ts';

testSmallest(malformedProof);
