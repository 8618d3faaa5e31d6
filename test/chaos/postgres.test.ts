import { postgres } from './postgres.ts';
import { testSmallest } from './smallest.ts';

testSmallest(postgres);
