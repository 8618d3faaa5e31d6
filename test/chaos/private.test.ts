import { privateProof } from './private.ts';
import { testSmallest } from './smallest.ts';

testSmallest(privateProof);
