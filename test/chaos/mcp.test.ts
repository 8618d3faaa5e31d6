import { mcp } from './mcp.ts';
import { testSmallest } from './smallest.ts';

testSmallest(mcp);
