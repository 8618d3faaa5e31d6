import { previews } from './previews.ts';
import { testSmallest } from './smallest.ts';

testSmallest(previews);
