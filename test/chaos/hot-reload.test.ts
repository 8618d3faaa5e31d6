import { hotReload } from './hot-reload.ts';
import { testSmallest } from './smallest.ts';

testSmallest(hotReload);
