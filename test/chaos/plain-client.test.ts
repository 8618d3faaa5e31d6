import { plainClient } from './plain-client.ts';
import { testSmallest } from './smallest.ts';

testSmallest(plainClient);
