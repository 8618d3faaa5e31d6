import { many } from './many.ts';
import { testSmallest } from './smallest.ts';

testSmallest(many);
