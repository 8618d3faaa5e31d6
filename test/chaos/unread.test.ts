import { testSmallest } from './smallest.ts';
import { unread } from './unread.ts';

testSmallest(unread);
