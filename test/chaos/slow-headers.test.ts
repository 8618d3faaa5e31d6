import { slowHeaders } from './slow-headers.ts';
import { testSmallest } from './smallest.ts';

testSmallest(slowHeaders);
